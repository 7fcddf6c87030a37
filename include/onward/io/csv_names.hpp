#pragma once
// What parameters are called at the head of a CSV file. Readers of CmdStan's files take a dot for the start
// of an index (theta.1.2 is theta[1,2]), and some evaluate names as code. So everything before the indices is
// made of letters, digits and underscores: `I(x^2)` becomes `I_x_2`, `edu.12` becomes `edu_12`. Names that
// would be the same then get a number. What they are really called stands in the file's comments.
//
// Readers also count on Stan's order: the entries of an array stand together, the first index running
// fastest. rstan mixes them up otherwise, without a word.

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace onward {

struct CsvNames {
  std::vector<std::string> columns;  ///< one for each parameter, in the order of the file
  std::vector<std::size_t> order;    ///< which parameter each column is of
  /// Names that had to be changed: as they are in the file and as they are, both without indices.
  std::vector<std::pair<std::string, std::string>> changed;
};

/// `indices`: how many of the numbers that a name ends in are indices (1 of theta.1, 2 of eta.1.2), one entry
/// for each name. If it is empty, all numbers that follow dots at the end of a name are.
CsvNames csv_names(std::span<const std::string> names, std::span<const std::size_t> indices = {});

}  // namespace onward
