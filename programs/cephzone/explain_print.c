#include "programs/cephzone/explain_print.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "programs/cephzone/table.h"

#define NODES_EACH 50 /* more are shown in groups */

static const struct table_column COLUMNS[] = {
    {"NODE", false}, {"PLACE", false}, {"FITS", false}, {"SCORE", true}, {"WHY", false},
};
static const struct table_column WIDE_COLUMNS[] = {
    {"NODE", false}, {"PLACE", false},      {"FITS", false},    {"SCORE", true},
    {"WHY", false},  {"KUBERNETES", false}, {"VOLUMES", false}, {"FIX", false},
};

static void add_row(struct table *table, const struct explained_node *row, const char *name,
                    bool is_wide)
{
    bool fits = row->cause == EXPLAIN_FITS;
    _cleanup_free_ char *score = fits ? xasprintf("%lld", (long long)row->score) : NULL;

    table_add(table, name);
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

/* --- many nodes --- */

static const char *why(const struct explained_node *row)
{
    return row->cause == EXPLAIN_FITS ? row->volumes : row->detail;
}

static int compare_rows(const void *a, const void *b)
{
    const struct explained_node *first = *(const struct explained_node *const *)a;
    const struct explained_node *second = *(const struct explained_node *const *)b;
    int order = strcmp(first->place, second->place);

    if (order == 0)
        order = (first->cause != EXPLAIN_FITS) - (second->cause != EXPLAIN_FITS);
    if (order == 0)
        order = (first->score < second->score) - (first->score > second->score);
    if (order == 0)
        order = strcmp(why(first), why(second));
    return order ? order : strcmp(first->node->meta.name, second->node->meta.name);
}

static bool is_same(const struct explained_node *a, const struct explained_node *b)
{
    return (a->cause == EXPLAIN_FITS) == (b->cause == EXPLAIN_FITS) && a->score == b->score &&
           strcmp(a->place, b->place) == 0 && strcmp(why(a), why(b)) == 0;
}

/* One row for all nodes of a place of which the same is said, with the first of them. */
static void add_groups(struct table *table, const struct explanation *explanation)
{
    const struct explained_node **rows =
        xcalloc(explanation->count, sizeof(struct explained_node *));

    for (size_t i = 0; i < explanation->count; i++)
        rows[i] = &explanation->nodes[i];
    qsort(rows, explanation->count, sizeof(*rows), compare_rows);
    for (size_t i = 0, next = 0; i < explanation->count; i = next) {
        while (next < explanation->count && is_same(rows[i], rows[next]))
            next++;
        _cleanup_free_ char *name =
            next - i > 1 ? xasprintf("%s +%zu", rows[i]->node->meta.name, next - i - 1)
                         : xstrdup(rows[i]->node->meta.name);
        add_row(table, rows[i], name, false);
    }
    free(rows);
}

void explain_print_table(const struct explanation *explanation, bool is_wide, FILE *file)
{
    _cleanup_table_ struct table table = {
        .columns = is_wide ? WIDE_COLUMNS : COLUMNS,
        .count = is_wide ? ARRAY_LENGTH(WIDE_COLUMNS) : ARRAY_LENGTH(COLUMNS),
    };

    fprintf(file, "%s\n\n", explanation->headline);
    if (!is_wide && explanation->count > NODES_EACH)
        add_groups(&table, explanation);
    for (size_t i = 0; (is_wide || explanation->count <= NODES_EACH) && i < explanation->count; i++)
        add_row(&table, &explanation->nodes[i], explanation->nodes[i].node->meta.name, is_wide);
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
