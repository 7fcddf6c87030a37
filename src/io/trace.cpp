#include "onward/io/trace.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "onward/direction/directions.hpp"
#include "onward/error.hpp"
#include "onward/sampler/regenerated.hpp"
#include "onward/sampler/samplers.hpp"
#include "system_file.hpp"

namespace onward {
namespace {

namespace fs = std::filesystem;

fs::path trace_path(const fs::path& folder, std::size_t chain) {
  return folder / fmt::format("chain-{}.trace", chain + 1);
}
fs::path start_path(const fs::path& folder, std::size_t chain) {
  return folder / fmt::format("chain-{}.start", chain + 1);
}

struct Beginning {
  std::uint64_t steps = 0;
  std::vector<double> position;
  Metric metric;
  void transfer(Archive& archive) {
    archive(steps, position);
    metric.transfer(archive);
  }
};

}  // namespace

TraceSink::TraceSink(const RunFolder& folder, const RunSettings& resolved, const Checkpoint* resumed)
    : folder_(folder.path()), files_(resolved.chains), metrics_(resolved.chains) {
  for (std::size_t chain = 0; chain < files_.size(); ++chain) {
    File& file = files_[chain];
    file.path = trace_path(folder_, chain);
    if (!resumed) {
      file.descriptor = detail::open_for_writing(file.path, true);
      continue;
    }
    const auto bytes = static_cast<off_t>(resumed->chains[chain].draws * *resolved.thin * sizeof(double));
    file.descriptor = ::open(file.path.c_str(), O_RDWR | O_CLOEXEC);
    if (file.descriptor < 0) detail::throw_system_error("write", file.path, errno);
    if (::lseek(file.descriptor, 0, SEEK_END) < bytes)
      throw Error(
          fmt::format("{} is shorter than the checkpoint counts on: it was changed since. Begin the run "
                      "again",
                      file.path.string()));
    if (::ftruncate(file.descriptor, bytes) != 0 || ::lseek(file.descriptor, bytes, SEEK_SET) != bytes)
      detail::throw_system_error("write", file.path, errno);
  }
}

TraceSink::~TraceSink() {
  for (const File& file : files_)
    if (file.descriptor >= 0) ::close(file.descriptor);
}

void TraceSink::warmed_up(std::size_t chain, double, const Metric& metric) { metrics_[chain] = metric; }

void TraceSink::begins(std::size_t chain, std::uint64_t steps, VectorView position) {
  Beginning beginning{steps, {position.begin(), position.end()}, std::exchange(metrics_[chain], {})};
  Archive archive;
  beginning.transfer(archive);
  write_file_atomically(start_path(folder_, chain), std::move(archive).take());
}

void TraceSink::drawn(std::size_t chain, const Draw& draw) {
  const File& file = files_[chain];
  const std::string_view bytes(reinterpret_cast<const char*>(draw.moves.data()), draw.moves.size_bytes());
  if (detail::write_fully(file.descriptor, bytes) != bytes.size())
    detail::throw_system_error("write", file.path, errno);
}

void TraceSink::make_durable() {
  for (const File& file : files_) detail::sync_file(file.descriptor, file.path);
}

struct Replay::Walk {
  AnyTarget target;
  Stream stream;
  Beginning at;
  Directions directions;
  bool regenerated;
  std::size_t thin, draw = 0;
  std::vector<double> moves;
  Workspace workspace;

  /// The same way along the same line as the kernel took it.
  void step(double alpha) {
    ++at.steps;
    if (alpha == 0) return;
    if (regenerated) {
      const UnitVector v(stream, at.steps, Purpose::direction, at.position.size());
      target.line(at.position, {v, at.position.size()}).commit(alpha);
      return;
    }
    std::visit(
        [&]<class Source>(Source& source) {
          const SourcedRandom<Source> random(stream, at.steps, source);
          const Direction v = push_drawn<double>([&](auto& out) { return random.direction(out); }, at.metric,
                                                 workspace, workspace.direction, workspace.pushed);
          target.line(at.position, v).commit(alpha);
        },
        directions);
  }
};

Replay::Replay(const fs::path& folder, AnyTarget target, const RunSettings& s, std::size_t chain) {
  const std::string text = detail::read_whole(start_path(folder, chain));
  Beginning beginning;
  Archive archive(text);
  beginning.transfer(archive);
  archive.finish();
  if (beginning.position.size() != target.dimension())
    throw Error(fmt::format("{} is of a model with {} parameters to sample, not of one with {}",
                            start_path(folder, chain).string(), beginning.position.size(),
                            target.dimension()));
  const std::string bytes = detail::read_whole(trace_path(folder, chain));
  std::vector<double> moves(bytes.size() / sizeof(double));
  std::memcpy(moves.data(), bytes.data(), moves.size() * sizeof(double));
  const DirectionLaw needed = needed_law(make_kernel(kernel_settings(s)));
  Directions directions =
      make_directions(s.directions, needed, target.dimension(), target.names(), target.blocks());
  Workspace workspace(target.dimension());
  walk_ = std::make_unique<Walk>(Walk{std::move(target), Stream(*s.seed, static_cast<std::uint32_t>(chain)),
                                      std::move(beginning), std::move(directions),
                                      s.vectors == Vectors::regenerated, *s.thin, 0, std::move(moves),
                                      std::move(workspace)});
}

Replay::~Replay() = default;

std::size_t Replay::draws() const { return walk_->moves.size() / walk_->thin; }

const std::vector<double>& Replay::state_of(std::size_t draw) {
  Walk& walk = *walk_;
  if (draw == 0 || draw > draws())
    throw UsageError(fmt::format("there is no draw {}: the trace has {}, counted from 1", draw, draws()));
  if (draw < walk.draw)
    throw UsageError(fmt::format("draw {} lies before draw {}, where the replay is: ask in ascending order",
                                 draw, walk.draw));
  for (; walk.draw < draw; ++walk.draw)
    for (std::size_t k = 0; k < walk.thin; ++k) walk.step(walk.moves[walk.draw * walk.thin + k]);
  return walk.at.position;
}

}  // namespace onward
