#include "funnel_checkpoint.hpp"

#include <cmath>
#include <limits>

#include "onward/error.hpp"
#include "onward/io/json.hpp"
#include "onward/util/printable.hpp"

namespace onward::experiments {
namespace {

/// What a checkpoint belongs to: settings that change a number.
std::string fingerprint(const FunnelSettings& s) {
  return fmt::format("funnel 2: {} step sizes {} to {}, {} seeds, {} chains, {} steps, seed {}, lanes {}",
                     s.step_sizes, s.min_step_size.value_or(0), s.max_step_size, s.seeds, s.chains, s.steps,
                     s.seed, register_lanes);
}

double seconds_from_json(const nlohmann::json& value) {
  const auto number = value.get<double>();
  if (!(number >= 0) || !std::isfinite(number)) throw Error("a time that is no positive number");
  return number;
}

PieceResult piece_from_json(const nlohmann::json& json) {
  PieceResult result;
  result.seconds = seconds_from_json(json.at("seconds"));
  result.random_seconds = seconds_from_json(json.at("random_seconds"));
  for (const auto& row : json.at("sums")) {
    if (!row.is_array() || row.size() != 3) throw Error("a row of sums that has not three numbers");
    // A chain that left the floating-point range has sums that are not finite, which JSON knows as null.
    const auto number = [](const nlohmann::json& value) {
      return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
    };
    result.sums.push_back({number(row[0]), number(row[1]), number(row[2])});
  }
  return result;
}

}  // namespace

Checkpoint::Checkpoint(const FunnelSettings& s) : path_(s.checkpoint) {
  if (path_.empty()) return;
  std::ifstream in(path_);
  std::string line;
  bool ours = false;
  if (std::getline(in, line)) {
    ours = line == fingerprint(s);
    if (!ours)
      throw Error(fmt::format(
          "{} is the checkpoint of another experiment ({}); remove it or choose another --out", path_, line));
  }
  while (std::getline(in, line)) {
    if (json_depth(line) > most_json_depth) continue;
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object()) continue;
    try {
      const auto key = json.at("key").get<std::string>();
      if (json.contains("seconds_per_step"))
        seconds_per_step_[key] = seconds_from_json(json.at("seconds_per_step"));
      else
        done_[key] = piece_from_json(json);
    } catch (const std::exception& problem) {
      throw Error(
          fmt::format("the checkpoint {} is damaged in the line of {}: {}; remove that line or the file",
                      path_, printable(line.substr(0, 40)), problem.what()));
    }
  }
  in.close();
  out_.open(path_, std::ios::app);
  if (!ours) out_ << fingerprint(s) << std::endl;
  if (!out_)
    throw Error(fmt::format("cannot write the checkpoint {}: is the folder there and writable?", path_));
}

const PieceResult* Checkpoint::find(const Piece& piece, std::size_t sums) const {
  const auto found = done_.find(piece.key());
  if (found == done_.end()) return nullptr;
  if (found->second.sums.size() != sums)
    throw Error(
        fmt::format("the checkpoint {} is damaged: piece {} has {} sums where {} were expected; remove it",
                    path_, piece.key(), found->second.sums.size(), sums));
  return &found->second;
}

void Checkpoint::add(const Piece& piece, const PieceResult& result) {
  auto sums = nlohmann::json::array();
  for (const auto& s : result.sums) sums.push_back({s.w, s.w_squared, s.acceptance});
  write({{"key", piece.key()},
         {"seconds", result.seconds},
         {"random_seconds", result.random_seconds},
         {"sums", sums}});
}

double Checkpoint::seconds_per_step(const std::string& key, const std::function<double()>& measure) {
  const auto known = seconds_per_step_.find(key);
  if (known != seconds_per_step_.end()) return known->second;
  const double seconds = seconds_per_step_[key] = measure();
  write({{"key", key}, {"seconds_per_step", seconds}});
  return seconds;
}

void Checkpoint::write(const nlohmann::json& json) {
  if (path_.empty()) return;
  // The newline first: if the last line was cut short, this one still stands alone.
  out_ << '\n' << json.dump() << std::flush;
  if (!out_) throw Error(fmt::format("cannot write the checkpoint {}: is the disk full?", path_));
}

}  // namespace onward::experiments
