#include "onward/formula/frame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "context.hpp"
#include "design.hpp"
#include "groups.hpp"
#include "onward/error.hpp"
#include "onward/util/suggest.hpp"
#include "response.hpp"
#include "syntax.hpp"
#include "terms.hpp"
#include "variable.hpp"

namespace onward::formula {
namespace detail {
namespace {

class Assembly {
 public:
  Assembly(const Formula& formula, const Table& table, const FrameOptions& options)
      : options_(with_old_contrasts(options)),
        syntax_(formula.syntax()),
        table_(table),
        context_{syntax_, table_, options_, frame_.state, frame_.notes} {}

  Frame run() {
    for (const auto& [name, levels] : options_.levels) table_.find(name);
    frame_.state = {{"formula", syntax_.text},
                    {"contrasts", options_.contrasts == Contrasts::sum ? "sum" : "treatment"}};
    terms_ = expand_terms(syntax_, syntax_.right, dot());
    drop_response_from_terms();
    if (options_.groups) plans_ = plan_groups(syntax_, syntax_.right, dot());
    build_variables();
    choose_rows();
    for (auto& [label, variable] : variables_) settle_levels(context_, keep_, *variable);
    for (Variable* variable : response_.variables()) settle_levels(context_, keep_, *variable);
    fill_response();
    fill_design();
    return std::move(frame_);
  }

 private:
  /// New data are coded as those of the fitted model were.
  static FrameOptions with_old_contrasts(FrameOptions options) {
    if (options.state.is_null()) return options;
    if (!options.state.is_object() || !options.state.contains("contrasts"))
      throw UsageError("`state` is not what an earlier frame stored.");
    options.contrasts = options.state["contrasts"] == "sum" ? Contrasts::sum : Contrasts::treatment;
    return options;
  }

  /// What `.` stands for: the columns that neither the response nor a grouping factor uses.
  const std::vector<std::string>& dot() {
    if (dot_ || !has_dot(syntax_, syntax_.right)) return dot_ ? *dot_ : dot_.emplace();
    if (context_.has_old_state()) {
      dot_ = options_.state.value("dot", std::vector<std::string>());
    } else {
      dot_.emplace();
      auto taken = syntax_.left ? names_in(syntax_, *syntax_.left) : std::vector<std::string>();
      for (const NodeId bar : find_bars(syntax_, syntax_.right)) {
        const auto grouping = names_in(syntax_, syntax_.argument(bar, 1));
        taken.insert(taken.end(), grouping.begin(), grouping.end());
      }
      for (const auto& name : table_.names())
        if (std::ranges::find(taken, name) == taken.end()) dot_->push_back(name);
    }
    frame_.state["dot"] = *dot_;
    return *dot_;
  }

  void drop_response_from_terms() {
    if (!syntax_.left) return;
    const std::string name = deparse(syntax_, response_nodes(syntax_, *syntax_.left).y);
    const auto is_response = [&](const Term& term) {
      return term.size() == 1 && terms_.variables[term[0]].label == name;
    };
    if (std::erase_if(terms_.terms, is_response) > 0)
      frame_.notes.push_back(fmt::format("{} is the response, and is left out on the right.", name));
  }

  void build_variables() {
    if (syntax_.left)
      response_ =
          options_.response ? build_response(context_, *syntax_.left) : build_trials(context_, *syntax_.left);
    for (std::uint32_t v = 0; v < terms_.variables.size(); ++v) {
      const auto& variable = terms_.variables[v];
      if (std::ranges::binary_search(terms_.offsets, v))
        offsets_.push_back(build_offset(variable));
      else if (variable.label != response_.name || is_used(v))
        add_variable(variable);
    }
    for (const auto& plan : plans_)
      for (const auto& variable : plan.terms.variables) add_variable(variable);
    group_factors_ = build_group_factors(context_, plans_);
  }

  bool is_used(std::uint32_t v) const {
    return std::ranges::any_of(terms_.terms,
                               [v](const Term& term) { return std::ranges::binary_search(term, v); });
  }

  void add_variable(const Terms::Variable& variable) {
    if (variables_.contains(variable.label)) return;
    order_.push_back(variable.label);
    variables_.emplace(variable.label, std::make_shared<Variable>(build_variable(context_, variable)));
  }

  Variable build_offset(const Terms::Variable& variable) {
    const NodeId inner = *match_arguments(syntax_, *variable.node, {"x"})[0];
    Variable offset;
    offset.label = variable.label;
    offset.numbers = build_expression(context_, inner);
    return offset;
  }

  /// All variables of numbers and factors, for what is done to each.
  template <class Use>
  void for_each_variable(Use use) {
    for (const Variable* variable : response_.variables()) use(*variable);
    for (const auto& label : order_) use(*variables_.at(label));
    for (const Variable& offset : offsets_) use(offset);
  }

  void choose_rows() {
    keep_.assign(table_.rows(), 1);
    std::vector<std::string> losses;
    std::size_t kept = keep_.size();
    const auto account = [&](const std::string& label) {
      const auto now = static_cast<std::size_t>(std::ranges::count(keep_, 1));
      if (now == kept) return;
      if (options_.missing == Missing::refuse) {
        const auto row = static_cast<std::size_t>(std::ranges::find(keep_, 0) - keep_.begin());
        throw Error(
            fmt::format("{}: {} is missing here, and in {} rows in all. `missing` says to refuse such rows.",
                        table_.place_of_row(row), label, kept - now));
      }
      losses.push_back(fmt::format("{}: {}", label, kept - now));
      kept = now;
    };
    for_each_variable([&](const Variable& variable) {
      variable.mark_missing(keep_);
      account(variable.label);
    });
    for (const auto& [label, factor] : group_factors_) {
      const auto codes = factor.codes();
      for (std::size_t i = 0; i < keep_.size(); ++i)
        if (codes[i] == Column::missing_code) keep_[i] = 0;
      account(label);
    }
    if (kept == 0)
      throw Error(fmt::format("{}: every row has a missing value ({}).", table_.source(), joined(losses)));
    frame_.rows = kept;
    frame_.dropped = keep_.size() - kept;
    if (frame_.dropped > 0) {
      frame_.notes.push_back(
          fmt::format("{} of {} rows {} left out ({}).", frame_.dropped, keep_.size(),
                      frame_.dropped == 1 ? "has a missing value and is" : "have missing values and are",
                      joined(losses)));
      for (std::uint32_t i = 0; i < keep_.size(); ++i)
        if (keep_[i] != 0) frame_.table_rows.push_back(i);
    }
    for_each_variable([&](const Variable& variable) {
      if (const auto row = variable.first_infinite(keep_))
        throw Error(fmt::format("{}: {} is infinite.", table_.place_of_row(*row), variable.label));
    });
  }

  std::vector<double> values(const Variable& variable) const {
    std::vector<double> out(frame_.rows);
    for (std::size_t first = 0; first < out.size(); first += stretch) {
      const std::span part = std::span(out).subspan(first, std::min(stretch, out.size() - first));
      const Rows rows{.first = first, .index = rows_from(first, part.size()), .count = part.size()};
      if (variable.kind != Variable::Kind::factor) {
        variable.numbers->evaluate(rows, part);
      } else {
        const auto codes = variable.factor.codes();
        for (std::size_t i = 0; i < part.size(); ++i) part[i] = codes[rows[i]];
      }
    }
    return out;
  }
  std::span<const std::uint32_t> rows_from(std::size_t first, std::size_t count) const {
    const std::span all(frame_.table_rows);
    return all.empty() ? all : all.subspan(first, count);
  }

  void fill_response() {
    const auto add = [](std::vector<double>& to, const std::vector<double>& what) {
      if (to.empty()) to.resize(what.size());
      for (std::size_t i = 0; i < to.size(); ++i) to[i] += what[i];
    };
    frame_.response_name = response_.name;
    if (response_.failures) {
      add(frame_.trials, values(*response_.y));
      add(frame_.trials, values(*response_.failures));
    }
    if (response_.y && options_.response) {
      const Variable& y = *response_.y;
      frame_.y = values(y);
      if (y.is_categorical()) {
        for (std::size_t k = 0; k < y.levels(); ++k) frame_.response_levels.push_back(y.level(k));
        if (y.levels() < 2 && !context_.has_old_state())
          throw Error(fmt::format("the response {} has one level, \"{}\".", y.label, y.level(0)));
      }
    }
    if (response_.trials) frame_.trials = values(*response_.trials);
    if (response_.weights) frame_.weights = values(*response_.weights);
    for (const Variable& offset : offsets_) add(frame_.offset, values(offset));
    frame_.state["response"] = {{"name", frame_.response_name}, {"levels", frame_.response_levels}};
  }

  void fill_design() {
    Variables variables(variables_.begin(), variables_.end());
    auto design = std::make_shared<Design>(terms_, variables, options_.contrasts);
    frame_.intercept = design->intercept();
    frame_.column_names = design->names();
    frame_.term_labels = design->term_labels();
    frame_.term_of_column = design->term_of_column();
    frame_.design = std::move(design);
    name_variables();
    frame_.groups = finish_groups(context_, plans_, std::move(group_factors_), variables, keep_,
                                  frame_.table_rows, frame_.rows);
    frame_.state["columns"] = frame_.column_names;
    if (context_.has_old_state() &&
        options_.state.value("columns", std::vector<std::string>()) != frame_.column_names)
      throw Error("the formula gives other columns for these data than for those of the fitted model.");
  }

  /// Adds the columns of the table that a variable is computed from, those that are there aside.
  void add_names(std::uint32_t v, std::vector<std::string>& to) const {
    const Terms::Variable& variable = terms_.variables[v];
    const auto names =
        variable.node ? names_in(syntax_, *variable.node) : std::vector<std::string>{variable.column};
    for (const auto& name : names)
      if (std::ranges::find(to, name) == to.end()) to.push_back(name);
  }

  void name_variables() {
    for (std::uint32_t v = 0; v < terms_.variables.size(); ++v)
      if (is_used(v)) add_names(v, frame_.term_variables);
    for (const Term& term : terms_.terms) {
      auto& names = frame_.variables_of_term.emplace_back();
      for (const auto v : term) add_names(v, names);
    }
    for (const auto v : terms_.offsets) add_names(v, frame_.offset_variables);
  }

  FrameOptions options_;
  const Syntax& syntax_;
  const Table& table_;
  Frame frame_;
  Context context_;
  Terms terms_;
  std::optional<std::vector<std::string>> dot_;
  std::vector<GroupPlan> plans_;
  Response response_;
  std::map<std::string, std::shared_ptr<Variable>> variables_;
  std::vector<std::string> order_;  // of the variables, as they appear
  std::vector<Variable> offsets_;
  GroupFactors group_factors_;
  std::vector<std::uint8_t> keep_;  // for each row of the table whether it is used
};

}  // namespace
}  // namespace detail

Frame make_frame(const Formula& formula, const Table& table, const FrameOptions& options) {
  return detail::Assembly(formula, table, options).run();
}

void Frame::column(std::size_t j, std::size_t first, std::span<double> out) const {
  using detail::stretch;
  const std::span<const std::uint32_t> all(table_rows);
  for (; !out.empty(); first += stretch) {
    const std::size_t count = std::min(stretch, out.size());
    const auto index = all.empty() ? all : all.subspan(first, count);
    design->evaluate(j, {.first = first, .index = index, .count = count}, out.first(count));
    out = out.subspan(count);
  }
}

std::vector<std::string> text_columns(const nlohmann::ordered_json& state) {
  return state.value("text", std::vector<std::string>());
}

}  // namespace onward::formula
