#include "onward/run/run.hpp"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <exception>
#include <future>
#include <mutex>
#include <thread>

#include "chain_task.hpp"
#include "onward/error.hpp"
#include "onward/run/choice.hpp"
#include "onward/run/kernel_chain.hpp"
#include "onward/util/clock.hpp"
#include "onward/util/memory.hpp"
#include "onward/util/waiting.hpp"
#include "until_ess.hpp"

namespace onward {
namespace {

/// How much of the way a run has behind it when its chains have so many draws, all that were asked for so
/// far.
double share_at(const RunSettings& settings, std::size_t draws) {
  if (draws == 0) return 0;
  double left = 0.1;
  std::size_t limit = first_limit(settings, 0);
  if (draws >= settings.draws) return 1;
  for (; limit < draws; limit = next_limit(settings, limit)) left /= 2;
  return 1 - left;
}

Progress report(const std::deque<ChainTask>& chains, const RunSettings& settings, std::size_t draws,
                double seconds) {
  Progress p;
  p.steps_total = settings.chains * (*settings.warmup + draws * *settings.thin);
  double acceptance = 0;
  for (const auto& chain : chains) {
    p.steps_done += chain.monitor().steps.load(std::memory_order_relaxed);
    acceptance += chain.monitor().acceptance_sum.load(std::memory_order_relaxed);
    p.chains_warming += chain.phase() == ChainTask::warming ? 1 : 0;
    p.chains_sampling += chain.phase() == ChainTask::sampling ? 1 : 0;
    p.chains_done += chain.phase() == ChainTask::done ? 1 : 0;
  }
  p.steps_total = std::max(p.steps_total, p.steps_done);  // chains that were cut short are not equally long
  const std::size_t before = draws > first_limit(settings, 0) ? draws / 2 : 0;
  const std::uint64_t steps_before =
      before == 0 ? 0 : settings.chains * (*settings.warmup + before * *settings.thin);
  const double within = p.steps_done <= steps_before || p.steps_total == steps_before
                            ? 0
                            : static_cast<double>(p.steps_done - steps_before) /
                                  static_cast<double>(p.steps_total - steps_before);
  p.share = share_at(settings, before) + within * (share_at(settings, draws) - share_at(settings, before));
  p.seconds = seconds;
  if (p.steps_done > 0) {
    const auto done = static_cast<double>(p.steps_done);
    p.acceptance = acceptance / done;
    p.steps_per_second = seconds > 0 ? done / seconds : 0;
    p.seconds_left = seconds * static_cast<double>(p.steps_total - p.steps_done) / done;
  }
  return p;
}

/// At the end of the first stretch of warm-up and of each window, when all wait. A chain that is where there
/// is hardly any mass beside where another one is goes on from there: the odds are allowed to be e^-7, and
/// more in many dimensions, where both estimates are rough. Bits depend on the chains alone.
void compare_chains(std::deque<ChainTask>& tasks) {
  std::vector<double> masses;
  for (ChainTask& task : tasks) masses.push_back(task.meets() ? task.chain().log_mass() : -INFINITY);
  const double dimension = static_cast<double>(tasks.front().chain().position().size());
  const double allowed = 7 + 2 * std::sqrt(dimension), best = std::ranges::max(masses);
  std::vector<std::size_t> ahead, behind;
  for (std::size_t c = 0; c < tasks.size(); ++c) (best - masses[c] > allowed ? behind : ahead).push_back(c);
  // All that are behind take their place before anyone who is ahead is changed: these are not.
  for (std::size_t i = 0; i < behind.size(); ++i)
    tasks[behind[i]].chain().meet(ahead.empty() ? nullptr : &tasks[ahead[i % ahead.size()]].chain());
  for (const std::size_t c : ahead) tasks[c].chain().meet(nullptr);
}

/// The one place that starts threads for chains. Threads take the chain that is least far for a slice; this
/// thread watches the clock and the signals, shows progress, writes checkpoints and judges whether the run is
/// long enough.
class Loop {
 public:
  Loop(ChainMaker& maker, const RunSettings& settings, const Hooks& hooks, Run& run)
      : maker_(maker), settings_(settings), hooks_(hooks), run_(run) {}

  void go() {
    begin_ = Clock::now();
    prepare();
    if (hooks_.resume) earlier_ = hooks_.resume->checkpoint.seconds;
    earlier_.set_up += seconds_since(begin_);
    if (hooks_.notes) hooks_.notes(maker_.notes());
    make_chains();
    next_checkpoint_ = seconds_since(begin_) + hooks_.checkpoint_seconds;
    std::vector<std::thread> threads;
    try {
      for (std::size_t t = 0; t < std::min(settings_.threads, settings_.chains); ++t)
        threads.emplace_back([this] { work(); });
      watch();
    } catch (...) {
      // A thread that could not be started, a sink, or hooks.progress: chains must end before the stack does.
      const std::lock_guard lock(mutex_);
      if (!problem_) problem_ = std::current_exception();
      stop_all();
    }
    for (auto& thread : threads) thread.join();
    tell_news();
    if (problem_) std::rethrow_exception(problem_);
    finish();
  }

 private:
  /// What all chains share. In a thread of its own, so that this one can show progress and notice signals.
  void prepare() {
    ThreadPool pool(settings_.threads);
    auto prepared = std::async(std::launch::async, [&] { maker_.prepare(settings_, pool, stop_); });
    while (prepared.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready) {
      look_at_the_clock();
      if (hooks_.progress) hooks_.progress(report(tasks_, settings_, settings_.draws, seconds_since(begin_)));
    }
    prepared.get();
    give_back_memory();  // of the set-up: chains come on top
    look_at_the_clock();
  }

  void make_chains() {
    // Threads without a chain of their own help within chains.
    const std::size_t helpers = maker_.shares_steps() ? settings_.threads : 0;
    const std::size_t each = helpers / settings_.chains, rest = helpers % settings_.chains;
    run_.chains.resize(settings_.chains);
    for (std::size_t c = 0; c < settings_.chains; ++c) {
      const auto pool =
          std::make_shared<ThreadPool>(std::max<std::size_t>(1, each + (each > 0 && c < rest ? 1 : 0)));
      ChainTask& task =
          tasks_.emplace_back(maker_.make(c, pool), settings_, hooks_, c, run_.names.size(), run_.chains[c]);
      task.heed(stop_, hurry_);
      if (hooks_.resume) {
        if (c < hooks_.resume->chains.size()) run_.chains[c] = hooks_.resume->chains[c];
        task.load(hooks_.resume->checkpoint.chains.at(c));
      }
      waiting_.push_back(&task);
    }
    std::size_t most = 0;
    for (const ChainTask& task : tasks_) most = std::max(most, task.draws());
    limit_ = first_limit(settings_, most);
    warm_saved_ = *settings_.warmup == 0;
  }

  void stop_all() {
    stop_ = true;
    for (ChainTask& task : tasks_) task.monitor().pause = true;
    work_.notify_all();
  }

  bool at_limit(const ChainTask& task) const {
    return (task.warm() && task.draws() >= limit_) || (task.meets() && !hurry_);
  }

  void work() {
    const Waiting waiting(&stop_, &news_);
    std::unique_lock lock(mutex_);
    while (true) {
      work_.wait(lock, [&] { return closed_ || stop_ || !waiting_.empty(); });
      if (closed_ || stop_) return;
      const auto least = std::ranges::min_element(waiting_, {}, &ChainTask::steps);
      ChainTask* task = *least;
      waiting_.erase(least);
      lock.unlock();
      std::exception_ptr problem;
      try {
        task->advance(limit_, stop_, hurry_);
        save_if_asked(*task);
      } catch (...) {
        problem = std::current_exception();
      }
      lock.lock();
      if (problem) {
        if (!problem_) problem_ = problem;
        stop_all();
      } else if (!stop_ && task->monitor().pause) {
        // Asked for since: a chain at the limit would never come by to be saved.
        try {
          save(*task, task->checkpoint());
        } catch (...) {  // a full disk, say
          problem_ = std::current_exception();
          stop_all();
        }
      }
      (at_limit(*task) ? parked_ : waiting_).push_back(task);
      attention_.notify_one();
      // Others may be waiting for a chain.
      if (!at_limit(*task)) work_.notify_one();
    }
  }

  void look_at_the_clock() {
    if (stop_) return;
    if (hooks_.stop && hooks_.stop->load()) {
      run_.ending = Ending::interrupted;
    } else if (settings_.max_seconds > 0 &&
               hooks_.seconds_used + seconds_since(begin_) >= settings_.max_seconds) {
      run_.ending = Ending::time_limit;
    } else {
      hurry();
      return;
    }
    stop_all();
  }

  /// Half of the time that is allowed is for draws, however long warm-up was meant to be.
  void hurry() {
    if (hurry_ || !(settings_.max_seconds > 0) ||
        hooks_.seconds_used + seconds_since(begin_) < settings_.max_seconds / 2)
      return;
    hurry_ = true;
  }

  /// What models say while they are sampled.
  void tell_news() {
    const std::vector<std::string> news = news_.take();
    if (hooks_.notes && !news.empty()) hooks_.notes(news);
  }

  /// Until every chain is done, or all are stopped.
  void watch() {
    std::unique_lock lock(mutex_);
    while (true) {
      const auto all_parked = [&] { return parked_.size() == tasks_.size(); };
      attention_.wait_for(lock, std::chrono::milliseconds(50),
                          [&] { return stop_ || all_parked() || due() || collected(); });
      look_at_the_clock();
      tell_news();
      if (stop_) break;
      if (all_parked() && !go_on(lock)) break;
      if (due()) begin_checkpoint();
      if (collected()) end_checkpoint(lock);
      lock.unlock();
      if (hooks_.progress)
        hooks_.progress(report(tasks_, settings_, limit_, earlier_.all + seconds_since(begin_)));
      lock.lock();
    }
    closed_ = true;
    work_.notify_all();
  }

  /// All chains have as many draws as were asked of them so far. Whether more are needed.
  bool go_on(std::unique_lock<std::mutex>& lock) {
    if (std::ranges::any_of(tasks_, [](const ChainTask& task) { return task.meets(); })) {
      compare_chains(tasks_);
      release();
      return true;
    }
    if (limit_ >= settings_.draws) return false;
    lock.unlock();
    enough_ = is_enough(run_, *settings_.until_ess, maker_.judged(), stop_, [this] { look_at_the_clock(); });
    lock.lock();
    if (enough_ || stop_) return false;
    limit_ = next_limit(settings_, limit_);
    release();
    return true;
  }

  void release() {
    waiting_.insert(waiting_.end(), parked_.begin(), parked_.end());
    parked_.clear();
    work_.notify_all();
  }

  /// Whether it is time to begin a checkpoint: after so many seconds, and once when all have warmed up.
  bool due() const {
    if (!hooks_.checkpoint || !snapshots_.empty()) return false;
    if (seconds_since(begin_) >= next_checkpoint_) return true;
    const auto warm = [](const ChainTask& task) { return task.phase() >= ChainTask::sampling; };
    return !warm_saved_ && std::ranges::all_of(tasks_, warm);
  }

  /// Chains that no thread has are saved at once; the others by their threads, which then go on.
  void begin_checkpoint() {
    snapshots_.resize(tasks_.size());
    for (const auto& list : {waiting_, parked_})
      for (ChainTask* task : list) snapshots_[task->number()] = task->checkpoint();
    for (ChainTask& task : tasks_)
      if (!snapshots_[task.number()]) task.monitor().pause = true;
  }

  /// By the thread that has the chain, when it was asked to pause.
  void save_if_asked(ChainTask& task) {
    if (stop_ || !task.monitor().pause) return;
    ChainCheckpoint checkpoint = task.checkpoint();
    const std::lock_guard lock(mutex_);
    save(task, std::move(checkpoint));
  }

  void save(ChainTask& task, ChainCheckpoint checkpoint) {
    snapshots_[task.number()] = std::move(checkpoint);
    if (!stop_) task.monitor().pause = false;
  }

  bool collected() const {
    return !snapshots_.empty() &&
           std::ranges::all_of(snapshots_, [](const auto& s) { return s.has_value(); });
  }

  void end_checkpoint(std::unique_lock<std::mutex>& lock) {
    Checkpoint checkpoint;
    for (auto& snapshot : snapshots_) checkpoint.chains.push_back(std::move(*snapshot));
    lock.unlock();
    hand_on(checkpoint);
    lock.lock();
    snapshots_.clear();
    next_checkpoint_ = seconds_since(begin_) + hooks_.checkpoint_seconds;
    const auto warm = [](const ChainTask& task) { return task.phase() >= ChainTask::sampling; };
    warm_saved_ = warm_saved_ || std::ranges::all_of(tasks_, warm);
  }

  void hand_on(Checkpoint& checkpoint) {
    checkpoint.seconds = {earlier_.set_up, earlier_.all + seconds_since(begin_)};
    for (Sink* sink : hooks_.sinks) sink->make_durable();
    hooks_.checkpoint(checkpoint);
  }

  void finish() {
    if (hooks_.checkpoint) {
      Checkpoint checkpoint;
      for (ChainTask& task : tasks_) checkpoint.chains.push_back(task.checkpoint());
      for (ChainTask& task : tasks_) task.end();
      hand_on(checkpoint);
    } else {
      for (ChainTask& task : tasks_) task.end();
    }
    const double seconds = earlier_.all + seconds_since(begin_);
    double warmup = 0, sampling = 0;
    for (const auto& chain : run_.chains) {
      warmup += chain.warmup_seconds;
      sampling += chain.sampling_seconds;
    }
    // Stopped or not: if it was the moment at which there was nothing left to do, it is done.
    // Chains that wait for each other within warm-up are parked too.
    const auto done = [this](const ChainTask& task) { return task.warm() && task.draws() >= limit_; };
    if (std::ranges::all_of(tasks_, done) && (limit_ >= settings_.draws || enough_))
      run_.ending = Ending::complete;
    const double drawing = seconds - earlier_.set_up;
    run_.warmup_seconds =
        earlier_.set_up + (warmup + sampling > 0 ? drawing * warmup / (warmup + sampling) : 0);
    run_.sampling_seconds = seconds - run_.warmup_seconds;
    if (hooks_.progress) hooks_.progress(report(tasks_, settings_, run_.draws(), seconds));
  }

  ChainMaker& maker_;
  const RunSettings& settings_;
  const Hooks& hooks_;
  Run& run_;
  Clock::time_point begin_;
  Checkpoint::Seconds earlier_;  // of the parts that the run had before, and all that went into setting up
  std::deque<ChainTask> tasks_;
  std::atomic<bool> stop_{false};
  News news_;
  std::atomic<bool> hurry_{false};     // too little time for all of warm-up
  std::atomic<std::size_t> limit_{0};  // draws a chain makes before it waits for the others

  std::mutex mutex_;  // of all that follows
  std::condition_variable work_, attention_;
  std::vector<ChainTask*> waiting_, parked_;               // for a thread; at the limit
  std::vector<std::optional<ChainCheckpoint>> snapshots_;  // of a checkpoint that is being made
  bool closed_ = false, warm_saved_ = false, enough_ = false;
  double next_checkpoint_ = 0;
  std::exception_ptr problem_;
};

}  // namespace

Run run_chains(ChainMaker& maker, const RunSettings& resolved, const Hooks& hooks) {
  Run run;
  run.settings = resolved;
  run.dimension = maker.dimension();
  run.names = maker.names();
  if (hooks.resume && hooks.resume->checkpoint.chains.size() != resolved.chains)
    throw Error("the checkpoint has another number of chains than the run");
  Loop(maker, run.settings, hooks, run).go();
  return run;
}

Run sample(const AnyTarget& target, RunSettings requested, const Hooks& given) {
  const auto called = Clock::now();
  Hooks hooks = given;
  std::optional<Choice> choice;
  check_choosable(requested);
  KernelChainMaker maker(target);
  if (requested.chooses_sampler()) {
    requested = with_seed(std::move(requested));
    choice = choose_sampler(target, requested, hooks);
    requested = with_choice(std::move(requested), *choice);
    hooks.seconds_used += seconds_since(called);
  }
  Run run = run_chains(maker, maker.resolve(std::move(requested)), hooks);
  run.choice = std::move(choice);
  return run;
}

}  // namespace onward
