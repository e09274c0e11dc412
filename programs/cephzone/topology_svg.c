/*
 * The tree as a picture. A place is a box with its pools, one below the other, and then its places,
 * side by side; so each box first asks those in it for their size. Text from outside is escaped.
 */
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "programs/cephzone/output.h"
#include "programs/cephzone/topology_tree.h"

#define GAP 14
#define TITLE_HEIGHT 34
#define POOL_WIDTH 270
#define POOL_HEIGHT 58
#define BAR_HEIGHT 6

static unsigned larger(unsigned a, unsigned b)
{
    return a > b ? a : b;
}

static unsigned width_of(const struct tree_place *place)
{
    unsigned width = place->pool_count || place->place_count == 0 ? POOL_WIDTH + 2 * GAP : 0;
    unsigned places = GAP;

    for (size_t i = 0; i < place->place_count; i++)
        places += width_of(place->places[i]) + GAP;
    return larger(width, places);
}

static unsigned pools_height(const struct tree_place *place)
{
    return TITLE_HEIGHT + (unsigned)place->pool_count * (POOL_HEIGHT + GAP);
}

static unsigned height_of(const struct tree_place *place)
{
    unsigned places = 0;

    for (size_t i = 0; i < place->place_count; i++)
        places = larger(places, height_of(place->places[i]) + GAP);
    return pools_height(place) + places;
}

static void draw_text(unsigned x, unsigned y, const char *style, const char *chars, FILE *file)
{
    fprintf(file, "<text x=\"%u\" y=\"%u\" class=\"%s\">", x, y, style);
    output_xml_text(chars, file);
    fputs("</text>\n", file);
}

static void draw_bar(unsigned x, unsigned y, const struct pool_figures *figures, FILE *file)
{
    const unsigned width = POOL_WIDTH - 2 * GAP;
    double all = (double)figures->used_bytes + (double)figures->room.bytes;
    double share = all > 0 ? (double)figures->used_bytes / all : 1;

    fprintf(file, "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%d\" class=\"free\"/>\n", x, y,
            width, BAR_HEIGHT);
    fprintf(file, "<rect x=\"%u\" y=\"%u\" width=\"%.1f\" height=\"%d\" class=\"used\"/>\n", x, y,
            share * width, BAR_HEIGHT);
}

static void draw_pool(const struct tree_pool *pool, unsigned x, unsigned y, FILE *file)
{
    const struct pool_figures *figures = &pool->figures;
    _cleanup_free_ char *room = text_size(figures->room.bytes);
    _cleanup_free_ char *title = xasprintf("%s%s%s", pool->pool, pool->data_pool ? " + " : "",
                                           pool->data_pool ? pool->data_pool : "");
    _cleanup_free_ char *facts = xasprintf(
        "%s, class %s, place from %s%s%s", figures->room.is_known ? room : "room unknown",
        pool->class_name, pool->origin, figures->room.remark[0] ? ", " : "", figures->room.remark);

    fprintf(file, "<rect x=\"%u\" y=\"%u\" width=\"%d\" height=\"%d\" rx=\"4\" class=\"pool\"/>\n",
            x, y, POOL_WIDTH, POOL_HEIGHT);
    draw_text(x + GAP, y + 20, "name", title, file);
    draw_text(x + GAP, y + 37, "fact", facts, file);
    draw_bar(x + GAP, y + 45, figures, file);
}

static void draw_place(const struct tree_place *place, unsigned x, unsigned y, unsigned height,
                       FILE *file)
{
    unsigned at = x + GAP;
    unsigned inner = height - pools_height(place) - GAP;
    _cleanup_free_ char *room = text_size(place->room_bytes);
    _cleanup_free_ char *title = place->level
                                     ? xasprintf("%s %s: %s%s%s", place->level, place->value, room,
                                                 place->takeover ? ", taken over by " : "",
                                                 place->takeover ? place->takeover : "")
                                     : xasprintf("everywhere: %s", room);

    fprintf(file, "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" rx=\"8\" class=\"%s\"/>\n", x,
            y, width_of(place), height, place->takeover ? "place taken" : "place");
    draw_text(x + GAP, y + 22, "place-name", title, file);
    for (size_t i = 0; i < place->pool_count; i++)
        draw_pool(&place->pools[i], x + GAP, y + TITLE_HEIGHT + (unsigned)i * (POOL_HEIGHT + GAP),
                  file);
    for (size_t i = 0; i < place->place_count; i++) {
        draw_place(place->places[i], at, y + pools_height(place), inner, file);
        at += width_of(place->places[i]) + GAP;
    }
}

void tree_print_svg(const struct tree_place *root, FILE *file)
{
    unsigned width = width_of(root) + 2 * GAP;
    unsigned height = height_of(root) + 2 * GAP;

    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" viewBox=\"0 0 "
            "%u %u\" font-family=\"sans-serif\">\n",
            width, height, width, height);
    fputs("<style>\n"
          ".place { fill: #f4f6f8; stroke: #8796a5; }\n"
          ".taken { fill: #fdeeee; stroke: #c0392b; stroke-dasharray: 6 3; }\n"
          ".pool { fill: #ffffff; stroke: #b9c4ce; }\n"
          ".free { fill: #d5e8d4; }\n"
          ".used { fill: #5b7fa6; }\n"
          ".place-name { font-size: 14px; font-weight: bold; fill: #22303c; }\n"
          ".name { font-size: 13px; font-weight: bold; fill: #22303c; }\n"
          ".fact { font-size: 11px; fill: #55626e; }\n"
          "</style>\n",
          file);
    fprintf(file, "<rect width=\"%u\" height=\"%u\" fill=\"#ffffff\"/>\n", width, height);
    draw_place(root, GAP, GAP, height_of(root), file);
    fputs("</svg>\n", file);
}
