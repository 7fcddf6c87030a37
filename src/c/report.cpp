// A run as an HTML page.

#include "guard.hpp"
#include "handles.hpp"
#include "onward/error.hpp"
#include "onward/model/registry.hpp"

#ifdef ONWARD_HAS_REPORT
#include "onward/record/run_draws.hpp"
#include "onward/report/read.hpp"
#endif

using namespace onward;

int onward_run_report(onward_run* run, [[maybe_unused]] const char* file) {
  return c_interface::guarded([&] {
#ifdef ONWARD_HAS_REPORT
    const Recorded& recorded = run->result();
    report::Input input = recorded.folder.empty() ? report::input_of(recorded.run, run->spec.kind)
                                                  : report::read_folder(recorded.folder);
    // A table in memory is not in any folder.
    check_files(run->spec, run->what_for);
    if (const auto table = run->what_for.tables.find("table"); table != run->what_for.tables.end())
      input.regression = report::describe_regression(glm::FittedRegression::from_json(run->model_json),
                                                     table->second, draws_of(recorded.run));
    report::write(c_interface::required(file, "file"), {input});
#else
    run->result();
    throw Error("this library was built without reports: build it with -DONWARD_REPORT=ON");
#endif
  });
}
