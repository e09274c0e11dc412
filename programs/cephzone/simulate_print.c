#include "programs/cephzone/simulate_print.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/columns.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/encoding/json.h"
#include "programs/cephzone/output.h"

/* More rows than anybody reads. */
#define TABLE_ROWS_MAX 50

/* Rejected for want of free space or of attachable volumes, rather than of a usable node. */
static size_t count_without_room(const struct simulation *simulation)
{
    size_t count = 0;

    for (size_t i = 0; i < simulation->count; i++) {
        const char *reason = simulation->pods[i].reason;

        count += !simulation->pods[i].is_placed && reason &&
                 (strstr(reason, binding_reason_text(BINDING_NO_SPACE)) ||
                  strstr(reason, "max volume count") || strstr(reason, "RESOURCE_EXHAUSTED"));
    }
    return count;
}

static void print_headline(const struct simulation *simulation, FILE *file)
{
    size_t stuck = simulation->count - simulation->placed;
    size_t without_room = count_without_room(simulation);

    if (simulation->count == 0) {
        fprintf(file, "no pod is pending\n");
    } else if (simulation->displaced > 0) {
        fprintf(file, "%zu of %zu displaced pods recover, %zu pods and %zu volumes are stuck",
                simulation->recovered, simulation->displaced, stuck, simulation->stuck_volumes);
        if (without_room > 0)
            fprintf(file, "; %zu for want of room\n", without_room);
        else
            fputs(stuck == 0 ? "; room suffices\n" : "\n", file);
    } else {
        fprintf(file, "%s: %zu of %zu pods find a place, %zu new volumes\n",
                stuck == 0 ? "fits" : "does not fit", simulation->placed, simulation->count,
                simulation->volumes_made);
    }
    for (size_t i = 0; i < simulation->notes.count; i++)
        fprintf(file, "%s\n", simulation->notes.items[i]);
}

/* Stuck pods first: they are what matters. */
static void print_pods(const struct simulation *simulation, bool is_wide, FILE *file)
{
    static const char *const titles[] = {"POD", "FROM", "TO", "WHY"};
    _cleanup_columns_ struct columns columns = {.has_dashes = true};
    size_t limit = is_wide ? SIZE_MAX : TABLE_ROWS_MAX;
    size_t shown = 0;
    size_t left = 0;

    columns_add_titles(&columns, titles, ARRAY_LENGTH(titles));
    for (int placed = 0; placed <= 1; placed++)
        for (size_t i = 0; i < simulation->count; i++) {
            const struct simulated_pod *row = &simulation->pods[i];

            if (row->is_placed != (placed == 1))
                continue;
            if (shown >= limit) {
                left++;
                continue;
            }
            columns_take(&columns, xasprintf("%s/%s", row->pod->meta.ns, row->pod->meta.name));
            columns_add(&columns, row->from);
            columns_add(&columns, row->is_placed ? row->pod->node_name : "stuck");
            columns_add(&columns, row->reason);
            shown++;
        }
    if (shown == 0)
        return;
    fputc('\n', file);
    columns_write(&columns, file);
    if (left > 0)
        fprintf(file, "... and %zu more; -o wide shows all\n", left);
}

static void print_rooms(const struct simulation *simulation, FILE *file)
{
    static const char *const titles[] = {"CLASS", "PLACE", "BEFORE", "AFTER", "REMARK"};
    _cleanup_columns_ struct columns columns = {.right = 1 << 2 | 1 << 3, .has_dashes = true};

    if (simulation->space_count == 0)
        return;
    columns_add_titles(&columns, titles, ARRAY_LENGTH(titles));
    for (size_t i = 0; i < simulation->space_count; i++) {
        const struct simulated_space *room = &simulation->spaces[i];

        columns_add(&columns, room->class_name);
        columns_add(&columns, room->place);
        columns_take(&columns, text_size(room->before));
        columns_take(&columns, text_size(room->after));
        columns_add(&columns, room->has_failed ? "failed" : NULL);
    }
    fputc('\n', file);
    columns_write(&columns, file);
}

void simulate_print_table(const struct simulation *simulation, bool is_wide, FILE *file)
{
    print_headline(simulation, file);
    print_pods(simulation, is_wide, file);
    print_rooms(simulation, file);
}

/* --- JSON --- */

static json_t *pod_json(const struct simulated_pod *row)
{
    return json_pack("{s:s, s:s, s:b, s:b, s:s?, s:s?, s:s?}", "namespace", row->pod->meta.ns,
                     "name", row->pod->meta.name, "placed", row->is_placed, "displaced",
                     row->was_displaced, "from", row->from, "node",
                     row->is_placed ? row->pod->node_name : NULL, "reason", row->reason);
}

static json_t *room_json(const struct simulated_space *room)
{
    return json_pack("{s:s, s:s, s:I, s:I, s:b}", "class", room->class_name, "place", room->place,
                     "beforeBytes", (json_int_t)room->before, "afterBytes", (json_int_t)room->after,
                     "failed", room->has_failed);
}

void simulate_print_json(const struct simulation *simulation, FILE *file)
{
    json_t *pods = json_array();
    json_t *rooms = json_array();

    for (size_t i = 0; i < simulation->count; i++)
        json_array_append_new(pods, pod_json(&simulation->pods[i]));
    for (size_t i = 0; i < simulation->space_count; i++)
        json_array_append_new(rooms, room_json(&simulation->spaces[i]));
    json_t *root = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "pods", (json_int_t)simulation->count,
        "placed", (json_int_t)simulation->placed, "displaced", (json_int_t)simulation->displaced,
        "recovered", (json_int_t)simulation->recovered, "stuckVolumes",
        (json_int_t)simulation->stuck_volumes, "newVolumes", (json_int_t)simulation->volumes_made,
        "details", pods, "rooms", rooms, "notes", json_from_strings(&simulation->notes));
    output_json(root, file);
}

/* --- SVG --- */

#define ROW_HEIGHT 34
#define BAR_LEFT 280
#define BAR_WIDTH 420
#define BAR_HEIGHT 20
#define PICTURE_WIDTH 900
#define PICTURE_ROWS_MAX 500
#define ROWS_WITHOUT_CHANGE 40 /* in larger pictures only what changes is drawn */
#define NAME_CHARS 36          /* as many as fit left of the bars */

/* A name that does not fit is shortened; the tooltip has all of it. */
static void print_name(const struct simulated_space *room, int y, FILE *file)
{
    _cleanup_free_ char *name = xasprintf("%s · %s", room->place, room->class_name);
    bool is_long = strlen(name) > NAME_CHARS;
    _cleanup_free_ char *shown = xstrndup(name, NAME_CHARS);

    /* not through the middle of the only character that has two bytes */
    for (size_t end = strlen(shown); is_long && end > 0 && (shown[end - 1] & 0x80); end--)
        shown[end - 1] = '\0';
    fprintf(file, "  <text x=\"20\" y=\"%d\"><title>", y + 15);
    output_xml_text(name, file);
    fputs("</title>", file);
    output_xml_text(shown, file);
    fprintf(file, "%s</text>\n", is_long ? "…" : "");
}

static int bar_width(uint64_t bytes, uint64_t largest)
{
    return largest ? (int)((__uint128_t)bytes * BAR_WIDTH / largest) : 0;
}

static void print_bar(int y, int width, const char *class, FILE *file)
{
    fprintf(file, "  <rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"3\" class=\"%s\"/>\n",
            BAR_LEFT, y, width, BAR_HEIGHT, class);
}

static void print_room(const struct simulated_space *room, uint64_t largest, int y, FILE *file)
{
    _cleanup_free_ char *before = text_size(room->before);
    _cleanup_free_ char *after = text_size(room->after);

    print_name(room, y, file);
    print_bar(y, bar_width(room->before, largest), room->has_failed ? "failed" : "before", file);
    if (!room->has_failed)
        print_bar(y, bar_width(room->after, largest), "after", file);
    fprintf(file, "  <text x=\"%d\" y=\"%d\" class=\"figure\">%s → %s</text>\n",
            BAR_LEFT + BAR_WIDTH + 10, y + 15, before, room->has_failed ? "failed" : after);
}

/* --- which rows, and the frame around them --- */

static bool is_drawn(const struct simulation *simulation, size_t i)
{
    const struct simulated_space *room = &simulation->spaces[i];

    return simulation->space_count <= ROWS_WITHOUT_CHANGE || room->has_failed ||
           room->before != room->after;
}

static void measure_rows(const struct simulation *simulation, size_t *rows, uint64_t *largest)
{
    for (size_t i = 0; i < simulation->space_count; i++) {
        if (!is_drawn(simulation, i) || *rows == PICTURE_ROWS_MAX)
            continue;
        (*rows)++;
        if (simulation->spaces[i].before > *largest)
            *largest = simulation->spaces[i].before;
    }
}

static void print_legend(const struct simulation *simulation, FILE *file)
{
    static const struct {
        const char *class;
        const char *text;
        int x;
    } ENTRIES[] = {
        {"before", "room before", 280}, {"after", "left after", 390}, {"failed", "failed", 490}};

    for (size_t i = 0; i < ARRAY_LENGTH(ENTRIES); i++)
        fprintf(file,
                "  <rect x=\"%d\" y=\"48\" width=\"12\" height=\"12\" rx=\"2\" class=\"%s\"/>\n"
                "  <text x=\"%d\" y=\"58\" class=\"figure\">%s</text>\n",
                ENTRIES[i].x, ENTRIES[i].class, ENTRIES[i].x + 17, ENTRIES[i].text);
    fprintf(file, "  <text x=\"20\" y=\"58\" class=\"figure\">%zu stuck, %zu new volumes</text>\n",
            simulation->count - simulation->placed, simulation->volumes_made);
}

void simulate_print_svg(const struct simulation *simulation, FILE *file)
{
    size_t rows = 0;
    uint64_t largest = 0;
    int y = 74;

    measure_rows(simulation, &rows, &largest);
    size_t left = simulation->space_count - rows;
    int height = 90 + (int)rows * ROW_HEIGHT + (left ? ROW_HEIGHT : 0);
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"13\">\n"
            "  <style>.before{fill:#cfd8dc}.after{fill:#2e7d32}.failed{fill:#ef9a9a;stroke:#b71c1c}"
            ".figure{font-size:11px}</style>\n"
            "  <rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n"
            "  <text x=\"20\" y=\"30\" font-size=\"16\" font-weight=\"bold\">Room before and "
            "after: %zu of %zu pods placed</text>\n",
            PICTURE_WIDTH, height, PICTURE_WIDTH, height, simulation->placed, simulation->count);
    print_legend(simulation, file);
    for (size_t i = 0; i < simulation->space_count && rows > 0; i++)
        if (is_drawn(simulation, i)) {
            print_room(&simulation->spaces[i], largest, y, file);
            y += ROW_HEIGHT;
            rows--;
        }
    if (left > 0)
        fprintf(file, "  <text x=\"20\" y=\"%d\" class=\"figure\">… and %zu places %s</text>\n",
                y + 15, left,
                simulation->space_count - left == PICTURE_ROWS_MAX ? "more" : "without change");
    fputs("</svg>\n", file);
}
