#include "programs/cephzone/check/check_print.h"

#include "common/base/columns.h"
#include "common/base/memory.h"
#include "programs/cephzone/output.h"

void check_print_table(const struct check_report *report, FILE *file)
{
    static const char *const titles[] = {"RESULT", "CHECK", "OBJECT", "WHAT, AND WHAT TO DO"};
    _cleanup_columns_ struct columns columns = {.has_dashes = true};

    columns_add_titles(&columns, titles, ARRAY_LENGTH(titles));
    for (size_t i = 0; i < report->count; i++) {
        const struct check_finding *finding = &report->findings[i];

        columns_add(&columns, check_result_name(finding->result));
        columns_add(&columns, finding->check);
        columns_add(&columns, finding->object);
        columns_take(&columns, xasprintf("%s%s%s", finding->what,
                                         finding->advice[0] ? "; to do: " : "", finding->advice));
    }
    columns_write(&columns, file);
    fprintf(file, "%zu fail, %zu warn, %zu pass\n", report->counts[CHECK_FAIL],
            report->counts[CHECK_WARN], report->counts[CHECK_PASS]);
}

void check_print_json(const struct check_report *report, FILE *file)
{
    json_t *findings = json_array();

    for (size_t i = 0; i < report->count; i++) {
        const struct check_finding *finding = &report->findings[i];

        json_array_append_new(findings, json_pack("{s:s, s:s, s:s, s:s, s:s}", "result",
                                                  check_result_name(finding->result), "check",
                                                  finding->check, "object", finding->object, "what",
                                                  finding->what, "advice", finding->advice));
    }
    output_json(json_pack("{s:o, s:{s:I, s:I, s:I}}", "findings", findings, "counts", "fail",
                          (json_int_t)report->counts[CHECK_FAIL], "warn",
                          (json_int_t)report->counts[CHECK_WARN], "pass",
                          (json_int_t)report->counts[CHECK_PASS]),
                file);
}
