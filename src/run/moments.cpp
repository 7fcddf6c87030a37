#include "onward/run/moments.hpp"

#include <cmath>

namespace onward {

MomentsSink::MomentsSink(std::size_t parameters, std::size_t chains)
    : chains_(chains, {0, std::vector<double>(parameters), std::vector<double>(parameters)}) {}

void MomentsSink::drawn(std::size_t chain, const Draw& draw) {
  Chain& c = chains_[chain];
  const auto n = static_cast<double>(++c.draws);
  for (std::size_t i = 0; i < c.mean.size(); ++i) {
    const double away = draw.parameters[i] - c.mean[i];
    c.mean[i] += away / n;
    c.squares[i] += away * (draw.parameters[i] - c.mean[i]);
  }
}

void MomentsSink::transfer(std::size_t chain, Archive& archive) {
  Chain& c = chains_[chain];
  const std::size_t parameters = c.mean.size();
  archive(c.draws, c.mean, c.squares);
  if (c.mean.size() != parameters || c.squares.size() != parameters)
    throw Error("the saved moments are of a model with other parameters");
}

MomentsSink::Chain MomentsSink::all() const {
  Chain sum{0, std::vector<double>(chains_.front().mean.size()),
            std::vector<double>(chains_.front().mean.size())};
  for (const Chain& c : chains_) {
    if (c.draws == 0) continue;
    const auto before = static_cast<double>(sum.draws), more = static_cast<double>(c.draws),
               n = before + more;
    for (std::size_t i = 0; i < sum.mean.size(); ++i) {
      const double apart = c.mean[i] - sum.mean[i];
      sum.mean[i] += apart * more / n;
      sum.squares[i] += c.squares[i] + apart * apart * before * more / n;
    }
    sum.draws += c.draws;
  }
  return sum;
}

std::vector<double> MomentsSink::mean() const { return all().mean; }

std::vector<double> MomentsSink::sd() const {
  Chain sum = all();
  for (double& s : sum.squares) s = sum.draws > 1 ? std::sqrt(s / static_cast<double>(sum.draws - 1)) : NAN;
  return std::move(sum.squares);
}

}  // namespace onward
