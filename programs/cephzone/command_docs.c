/* cephzone docs: tables of the pages in docs/, for docs/generate alone. */
#include "programs/cephzone/cephzone.h"

#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/config/class_parameters.h"

static void print_calls(unsigned calls)
{
    static const struct {
        enum class_call call;
        const char *name;
    } names[] = {
        {CLASS_CREATE_VOLUME, "CreateVolume"},
        {CLASS_CREATE_SNAPSHOT, "CreateSnapshot"},
        {CLASS_CREATE_GROUP, "CreateVolumeGroupSnapshot"},
        {CLASS_MODIFY_VOLUME, "ControllerModifyVolume"},
        {CLASS_STAGE_VOLUME, "NodeStageVolume"},
    };
    const char *separator = "";

    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        if (calls & names[i].call) {
            printf("%s%s", separator, names[i].name);
            separator = ", ";
        }
}

static void print_parameters(void)
{
    size_t count = 0;
    const struct class_parameter *table = class_parameters(&count);

    puts("| parameter | driver | calls that take it | values | default | meaning |\n"
         "| --- | --- | --- | --- | --- | --- |");
    for (size_t i = 0; i < count; i++) {
        const struct class_parameter *row = &table[i];

        printf("| `%s%s` | %s | ", row->key, row->is_family ? "..." : "",
               row->drivers == CLASS_ANY_DRIVER ? "both"
               : row->drivers == CLASS_RBD      ? "rbd"
                                                : "cephfs");
        print_calls(row->calls);
        printf(" | %s | %s%s%s | %s |\n", row->values, row->fallback ? "`" : "",
               row->fallback ? row->fallback : "", row->fallback ? "`" : "", row->help);
    }
}

int command_docs(int argc, char **argv)
{
    if (argc != 2 || strcmp(argv[1], "parameters") != 0) {
        fputs("Usage: cephzone docs parameters\n", stderr);
        return 2;
    }
    print_parameters();
    return 0;
}
