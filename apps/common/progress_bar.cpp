#include "progress_bar.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "notes.hpp"
#include "onward/util/clock.hpp"
#include "terminal.hpp"

namespace onward::app {

std::string duration(double seconds) {
  if (seconds < 1) return fmt::format("{:.0f} ms", seconds * 1000);
  if (seconds < 100) return fmt::format("{:.3g} s", seconds);
  const auto whole = static_cast<long>(std::lround(seconds));
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

namespace {

/// Whether stderr is a terminal that can take back a line.
bool can_redraw() {
  const char* const kind = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && (kind == nullptr || std::string_view(kind) != "dumb");
}

}  // namespace

ProgressBar::ProgressBar(bool quiet) : quiet_(quiet), terminal_(can_redraw()) {}
ProgressBar::~ProgressBar() { clear(); }

void ProgressBar::clear() {
  if (!shown_) return;
  if (terminal_) write_to_stderr("\r\x1b[K");
  shown_ = false;
}

void ProgressBar::note(const std::string& line) {
  if (quiet_) return;
  if (terminal_) write_to_stderr("\r\x1b[K");
  say("{}\n", line);
}

void ProgressBar::show(const Progress& p, const std::string& before) {
  if (quiet_ || p.seconds < next_ || p.steps_total == 0) return;
  const double share = p.share;
  const std::string percent = before + fmt::format("{:3.0f}%", 100 * share);
  const std::string begin = percent + (p.chains_warming > 0 ? "  warm-up " : "  sampling");
  const std::string acceptance = fmt::format("  acceptance {:.2f}", p.acceptance);
  const std::string speed = fmt::format("  {:.3g} steps/s", p.steps_per_second);
  const std::string left = fmt::format("  {} left", duration(p.seconds_left));
  draw(share, p.seconds,
       {begin + acceptance + speed + left, begin + speed + left, begin + left, percent + left, percent});
}

void ProgressBar::show_speed(const Progress& p, const std::string& what) {
  const double seconds = seconds_since(begin_);
  if (quiet_ || seconds < next_ || p.steps_done == 0) return;
  const std::string begin = fmt::format("{}  {}", what, duration(seconds));
  draw(0, seconds, {begin + fmt::format("  {:.3g} steps/s", p.steps_per_second), begin});
}

void ProgressBar::show_shares(std::size_t done, double share, std::size_t total) {
  constexpr std::size_t parts = 1000;  // of each item
  show_pieces(parts * done + static_cast<std::size_t>(share * parts), parts * total);
}

void ProgressBar::show_pieces(std::size_t done, std::size_t total, const std::string& before,
                              const std::string& pieces) {
  const double seconds = seconds_since(begin_);
  if (quiet_ || seconds < next_ || done == 0) return;
  const double share = static_cast<double>(done) / static_cast<double>(total);
  const std::string begin = before + fmt::format("{:3.0f}%", 100 * share);
  const std::string left = fmt::format("  {} left", duration(seconds / share - seconds));
  draw(share, seconds, {begin + fmt::format("  {} of {} {}", done, total, pieces) + left, begin + left});
}

void ProgressBar::draw(double share, double seconds, const std::vector<std::string>& wordings) {
  if (terminal_) {
    // What is wider than the terminal would wrap, and could not be taken back.
    const std::size_t columns = columns_of(STDERR_FILENO);
    const auto fitting =
        std::ranges::find_if(wordings, [&](const std::string& words) { return words.size() < columns; });
    const std::string& figures = fitting == wordings.end() ? wordings.back() : *fitting;
    constexpr std::size_t frame = 4, narrowest = 8, widest = 24;  // brackets and spaces around the bar
    const std::size_t room = columns - std::min(columns, figures.size() + frame);
    const std::size_t width = room < narrowest ? 0 : std::min(room, widest);
    const auto filled = static_cast<std::size_t>(share * static_cast<double>(width));
    if (width > 0)
      write_to_stderr(fmt::format("\r[{:#<{}}{:.<{}}] {}\x1b[K", "", filled, "", width - filled, figures));
    else
      write_to_stderr(fmt::format("\r{:.{}}\x1b[K", figures, columns - 1));
    shown_ = true;
    next_ = seconds + 0.2;
  } else {
    say("{}\n", wordings.front());
    next_ = seconds + (seconds < 30 ? 5 : seconds < 300 ? 15 : 60);
  }
}

}  // namespace onward::app
