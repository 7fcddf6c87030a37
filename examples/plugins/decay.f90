! A decay curve as a plug-in in Fortran, with its tangent by hand: y(t) = a exp(-k t) + noise of sd 0.1, for a and k
! by their logarithms, which have standard normal priors.
!
!     gfortran -O2 -shared -fPIC decay.f90 -o decay.so
!     onward sample plugin:./decay.so
module decay
  use, intrinsic :: iso_c_binding
  implicit none

  ! As onward.h has them: the order of the fields counts.
  type, bind(c) :: parameter_t
    type(c_ptr) :: name
    integer(c_size_t) :: rank
    type(c_ptr) :: shape
  end type

  type, bind(c) :: density_t
    integer(c_int32_t) :: version, flags
    integer(c_size_t) :: dimension
    type(c_ptr) :: data
    type(c_funptr) :: jet, gradient, constrain
    integer(c_size_t) :: parameter_count
    type(c_ptr) :: parameters
    integer(c_size_t) :: block_count
    type(c_ptr) :: blocks
    type(c_funptr) :: copy, release, thread_begins, thread_ends
  end type

  real(c_double), parameter :: times(6) = [0.0d0, 1.0d0, 2.0d0, 3.0d0, 4.0d0, 5.0d0]
  real(c_double), parameter :: y(6) = [2.05d0, 1.18d0, 0.78d0, 0.41d0, 0.33d0, 0.12d0]
  real(c_double), parameter :: sd = 0.1d0
  character(kind=c_char), target :: names(2, 2) = reshape(['a', c_null_char, 'k', c_null_char], [2, 2])
  type(parameter_t), target :: parameters(2)

contains

  ! Value, slope and curvature go through each step together, as forward mode does it.
  function jet(data, theta, v, order, out, message) bind(c) result(code)
    type(c_ptr), value :: data, v, message
    real(c_double), intent(in) :: theta(2)
    integer(c_int), value :: order
    real(c_double), intent(inout) :: out(*)
    integer(c_int) :: code
    real(c_double), pointer :: along(:)
    real(c_double) :: d(2), f, df, ddf, a, k, m, u, du, ddu, residual, dm, ddm
    integer :: i
    d = 0
    if (order > 0) then
      call c_f_pointer(v, along, [2])
      d = along
    end if
    f = -0.5d0 * sum(theta**2)
    df = -sum(theta * d)
    ddf = -sum(d**2)
    a = exp(theta(1))
    k = exp(theta(2))
    do i = 1, size(y)
      ! m = exp(u), u = theta(1) - k t
      u = -k * times(i)
      du = d(1) - k * d(2) * times(i)
      ddu = -k * d(2)**2 * times(i)
      m = a * exp(u)
      dm = m * du
      ddm = m * (ddu + du**2)
      residual = y(i) - m
      f = f - 0.5d0 * (residual / sd)**2
      df = df + residual * dm / sd**2
      ddf = ddf + (residual * ddm - dm**2) / sd**2
    end do
    out(1) = f
    if (order >= 1) out(2) = df
    if (order == 2) out(3) = ddf
    code = 0
  end function

  function constrain(data, theta, out, message) bind(c) result(code)
    type(c_ptr), value :: data, message
    real(c_double), intent(in) :: theta(2)
    real(c_double), intent(out) :: out(2)
    integer(c_int) :: code
    out = exp(theta)
    code = 0
  end function

  function onward_plugin(argument, out, message) bind(c) result(code)
    type(c_ptr), value :: argument, message
    type(density_t), intent(out) :: out
    integer(c_int) :: code
    parameters(1) = parameter_t(c_loc(names(1, 1)), 0, c_null_ptr)
    parameters(2) = parameter_t(c_loc(names(1, 2)), 0, c_null_ptr)
    out = density_t(1, 1, 2, c_null_ptr, c_funloc(jet), c_null_funptr, c_funloc(constrain), 2, c_loc(parameters), &
                    0, c_null_ptr, c_null_funptr, c_null_funptr, c_null_funptr, c_null_funptr)
    code = 0
  end function
end module
