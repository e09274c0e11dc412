#include <jansson.h>
#include <stdio.h>

#include "common/base/memory.h"
#include "common/scheduling/explain_print.h"
#include "common/scheduling/library/library.h"

typedef int explain_fn(struct cluster_objects *cluster, const struct binding_options *options,
                       const char *ns, const char *name, struct explanation *explanation,
                       struct error *err);

static int print_explanation(const struct explanation *explanation, enum czs_format format,
                             char **text, struct error *err)
{
    json_auto_t *json = NULL;
    size_t length = 0;

    if (format == CZS_JSON) {
        json = explain_to_json(explanation);
        *text = json ? json_dumps(json, JSON_INDENT(2)) : NULL;
    } else {
        FILE *file = open_memstream(text, &length);

        if (file) {
            explain_print_table(explanation, format == CZS_WIDE, file);
            fclose(file);
        }
    }
    return *text ? 0 : error_set(err, STATUS_INTERNAL, "the explanation cannot be printed");
}

static int explain(explain_fn *make, struct czs_cluster *cluster, const char *const names[2],
                   enum czs_format format, char **text, size_t *fitting, char **error)
{
    _cleanup_explanation_ struct explanation explanation = {0};
    _cleanup_error_ struct error err = {0};
    char *printed = NULL;

    if (!cluster || !names[0] || !names[1] || !text)
        return library_refuse_null("a cluster, a namespace, a name or a place for the text", error);
    if (format != CZS_TABLE && format != CZS_WIDE && format != CZS_JSON) {
        error_set(&err, STATUS_INVALID_ARGUMENT, "there is no format %d", (int)format);
        return library_fail(&err, error);
    }
    library_settle(cluster);
    if (make(&cluster->objects, &cluster->options, names[0], names[1], &explanation, &err) < 0 ||
        print_explanation(&explanation, format, &printed, &err) < 0)
        return library_fail(&err, error);
    *text = printed;
    if (fitting)
        *fitting = explanation.fitting;
    return CZS_OK;
}

int czs_explain_pod(struct czs_cluster *cluster, const char *name_space, const char *pod,
                    enum czs_format format, char **text, size_t *fitting, char **error)
{
    return explain(explain_pod, cluster, (const char *[]){name_space, pod}, format, text, fitting,
                   error);
}

int czs_explain_claim(struct czs_cluster *cluster, const char *name_space, const char *claim,
                      enum czs_format format, char **text, size_t *fitting, char **error)
{
    return explain(explain_claim, cluster, (const char *[]){name_space, claim}, format, text,
                   fitting, error);
}
