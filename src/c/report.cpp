// A run as an HTML page.

#include "guard.hpp"
#include "handles.hpp"
#include "onward/error.hpp"

#ifdef ONWARD_HAS_REPORT
#include "onward/record/run_draws.hpp"
#include "onward/report/read.hpp"
#endif

using namespace onward;

int onward_run_report(onward_run* run, [[maybe_unused]] const char* file) {
  return c_interface::guarded([&] {
#ifdef ONWARD_HAS_REPORT
    const Recorded& recorded = run->result();
    if (!recorded.folder.empty()) {
      report::write(file, {report::read_folder(recorded.folder)});
      return;
    }
    report::Input input = report::input_of(recorded.run, run->spec.kind);
    if (const auto table = run->what_for.tables.find("table"); table != run->what_for.tables.end())
      input.regression = report::describe_regression(glm::FittedRegression::from_json(run->model_json),
                                                     table->second, draws_of(recorded.run));
    report::write(file, {input});
#else
    run->result();
    throw Error("this library was built without reports: build it with -DONWARD_REPORT=ON");
#endif
  });
}
