#pragma once
// A formula together with a table: the response, the columns of the design as R's model.matrix has them, and
// the levels of grouping factors as lme4 has them. Columns are computed when they are asked for; no matrix is
// made.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "onward/formula/formula.hpp"
#include "onward/table/table.hpp"

namespace onward::formula {

namespace detail {
class Design;
}

enum class Contrasts { treatment, sum };
enum class Missing { drop, refuse };
enum class NewLevels { refuse, number };

struct FrameOptions {
  Contrasts contrasts = Contrasts::treatment;
  Missing missing = Missing::drop;  ///< what becomes of rows in which a variable of the formula is missing
  /// The levels of factors, in order, by the name of the column. A level without rows is refused.
  std::map<std::string, std::vector<std::string>> levels = {};
  /// The `state` of the frame that a model was fitted to, when these are new data for it. Null: there is
  /// none.
  nlohmann::ordered_json state = nullptr;
  /// Levels of grouping factors that `state` does not have: an Error, or numbers after the others.
  NewLevels new_levels = NewLevels::refuse;
  /// False: the response is passed over, as for predictions. Trials are then computed if their columns are
  /// there and not empty; those of cbind(s, f) are s + f.
  bool response = true;
  bool groups = true;  ///< false: groups are passed over, as where they count for nothing
};

/// One block of group-level effects: `columns` for each of `levels`, correlated within the block. As in lme4,
/// `||` makes a block of each term, and that of a factor has a column for each of its levels.
struct GroupTerm {
  std::string factor;  ///< as lme4 names it: "g", "k:h"
  std::vector<std::string> levels;
  std::vector<std::uint32_t> level_of_row;
  std::vector<std::string> columns;  ///< "Intercept", "x1"
  std::vector<std::vector<float>>
      values;  ///< one for each column and row; an empty vector is a column of ones
  /// Levels that were not there when the model was fitted: in `level_of_row` the i-th of them is number
  /// levels.size() + i.
  std::vector<std::string> new_levels;
};

struct Frame {
  std::size_t rows = 0;
  std::vector<std::uint32_t> table_rows;  ///< the table's row of each row here; empty: all rows, in order
  std::string response_name;              ///< as R would write it; empty without a response
  /// The response: numbers; of a factor the codes 0, 1, ... of `response_levels`; false and true as 0 and 1;
  /// of cbind(s, f) the successes s.
  std::vector<double> y;
  std::vector<std::string> response_levels;  ///< of a factor or a logical response, else empty
  std::vector<double> trials;                ///< from cbind(s, f) or `s | trials(n)`, else empty
  std::vector<double> weights;               ///< from `y | weights(w)`, else empty
  std::vector<double> offset;                ///< the sum of all offset(...) terms, else empty

  bool intercept = true;
  std::vector<std::string> column_names;  ///< as R's model.matrix has them, without the intercept
  /// The terms that columns come from, as R writes them, and for each column the term that it belongs to.
  std::vector<std::string> term_labels;
  std::vector<std::uint32_t> term_of_column;
  /// The columns of the table that these terms use, in order of appearance; offsets and groups do not count.
  std::vector<std::string> term_variables;
  std::vector<std::vector<std::string>> variables_of_term;  ///< likewise, for each of `term_labels`
  std::vector<std::string> offset_variables;                ///< the columns that offsets use
  /// Writes column j (the intercept does not count) from row `first` on, as many rows as `out` has room for.
  /// May be called by several threads at once.
  void column(std::size_t j, std::size_t first, std::span<double> out) const;

  std::vector<GroupTerm> groups;   ///< in lme4's order: by falling numbers of levels
  std::vector<std::string> notes;  ///< what the user should know, in whole sentences
  std::size_t dropped = 0;         ///< rows left out for missing values
  /// What new data need to give the same columns: levels, contrasts, what poly and scale computed.
  nlohmann::ordered_json state;

  std::shared_ptr<const detail::Design>
      design;  ///< how columns are computed; shares the columns of the table
};

Frame make_frame(const Formula& formula, const Table& table, const FrameOptions& options = {});

/// Columns that were factors when `state` was made: new data must be read with these as text, lest levels
/// such as "007" become numbers.
std::vector<std::string> text_columns(const nlohmann::ordered_json& state);

}  // namespace onward::formula
