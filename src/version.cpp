namespace onward {}
