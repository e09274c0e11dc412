#include "programs/cephzone/output.h"

void output_json(json_t *json, FILE *file)
{
    json_dumpf(json, file, JSON_INDENT(2));
    fputc('\n', file);
    json_decref(json);
}

json_t *output_strings_to_json(const struct string_list *list)
{
    json_t *strings = json_array();

    for (size_t i = 0; i < list->count; i++)
        json_array_append_new(strings, json_string(list->items[i]));
    return strings;
}

void output_xml_text(const char *text, FILE *file)
{
    for (; *text; text++) {
        switch (*text) {
        case '<':
            fputs("&lt;", file);
            break;
        case '>':
            fputs("&gt;", file);
            break;
        case '&':
            fputs("&amp;", file);
            break;
        case '"':
            fputs("&quot;", file);
            break;
        default:
            if ((unsigned char)*text >= ' ')
                fputc(*text, file);
        }
    }
}
