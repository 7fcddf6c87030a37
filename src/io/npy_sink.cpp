#include "onward/io/npy_sink.hpp"

#include <fmt/format.h>

namespace onward {

NpySink::NpySink(const RunFolder& folder, std::size_t dimension, std::size_t chains,
                 const Checkpoint* resumed) {
  for (std::size_t chain = 0; chain < chains; ++chain) {
    const auto path = folder.path() / fmt::format("chain-{}.npy", chain + 1);
    if (resumed)
      files_.push_back(NpyRowWriter::resume(path, dimension, resumed->chains[chain].draws));
    else
      files_.emplace_back(path, dimension);
  }
}

void NpySink::make_durable() {
  for (const NpyRowWriter& file : files_) file.sync();
}

}  // namespace onward
