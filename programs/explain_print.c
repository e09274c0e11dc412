#include "programs/explain_print.h"

#include <jansson.h>
#include <stdlib.h>

#include "common/base/memory.h"
#include "programs/table.h"

static const struct table_column COLUMNS[] = {
    {"NODE", false}, {"PLACE", false}, {"FITS", false}, {"SCORE", true}, {"WHY", false},
};
static const struct table_column WIDE_COLUMNS[] = {
    {"NODE", false}, {"PLACE", false},      {"FITS", false},    {"SCORE", true},
    {"WHY", false},  {"KUBERNETES", false}, {"VOLUMES", false}, {"FIX", false},
};

static void add_row(struct table *table, const struct explained_node *row, bool is_wide)
{
    bool fits = row->cause == EXPLAIN_FITS;
    _cleanup_free_ char *score = fits ? xasprintf("%lld", (long long)row->score) : NULL;

    table_add(table, row->node->meta.name);
    table_add(table, row->place);
    table_add(table, fits ? "yes" : "no");
    table_add(table, score);
    if (!is_wide) {
        table_add(table, fits ? row->volumes : row->detail);
        return;
    }
    table_add(table, fits && row->is_takeover ? "serves a domain taken over" : row->detail);
    table_add(table, row->reason);
    table_add(table, row->volumes);
    table_add(table, row->fix);
}

void explain_print_table(const struct explanation *explanation, bool is_wide, FILE *file)
{
    _cleanup_table_ struct table table = {
        .columns = is_wide ? WIDE_COLUMNS : COLUMNS,
        .count = is_wide ? ARRAY_LENGTH(WIDE_COLUMNS) : ARRAY_LENGTH(COLUMNS),
    };

    fprintf(file, "%s\n\n", explanation->headline);
    for (size_t i = 0; i < explanation->count; i++)
        add_row(&table, &explanation->nodes[i], is_wide);
    table_print(&table, file);
    fprintf(file, "\nKubernetes says: %s\n", explanation->summary);
    for (size_t i = 0; i < explanation->notes.count; i++)
        fprintf(file, "Note: %s\n", explanation->notes.items[i]);
}

static json_t *row_json(const struct explained_node *row)
{
    bool fits = row->cause == EXPLAIN_FITS;

    return json_pack("{s:s, s:s, s:b, s:s, s:I, s:s, s:s, s:s, s:s, s:b}", "node",
                     row->node->meta.name, "place", row->place, "fits", fits, "cause",
                     explain_cause_name(row->cause), "score", (json_int_t)row->score, "reason",
                     row->reason, "detail", row->detail, "fix", row->fix, "volumes", row->volumes,
                     "takeover", row->is_takeover);
}

void explain_print_json(const struct explanation *explanation, FILE *file)
{
    json_t *nodes = json_array();
    json_t *notes = json_array();

    for (size_t i = 0; i < explanation->count; i++)
        json_array_append_new(nodes, row_json(&explanation->nodes[i]));
    for (size_t i = 0; i < explanation->notes.count; i++)
        json_array_append_new(notes, json_string(explanation->notes.items[i]));
    json_auto_t *root = json_pack("{s:s, s:s, s:I, s:o, s:o}", "headline", explanation->headline,
                                  "kubernetes", explanation->summary, "fitting",
                                  (json_int_t)explanation->fitting, "nodes", nodes, "notes", notes);
    json_dumpf(root, file, JSON_INDENT(2));
    fputc('\n', file);
}
