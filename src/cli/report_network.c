/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The report's picture of the topology: hosts below, switches above by their level, or in a circle;
 * cables coloured by how busy they were; a deadlock's cycle. */
#include <math.h>
#include <stdlib.h>

#include "cli/report_page.h"
#include "cli/report_plot.h"
#include "fabric/egress.h"

#define SWITCHES   256 /* that are drawn at most */
#define LINKS	   4000
#define EACH_HOST  40 /* more hosts are drawn as one with their number */
#define NARROW	   480.0
#define WIDE	   960.0
#define ROW_HEIGHT 92.0
#define MARGIN	   26.0
#define CROWDED	   16.0 /* nodes so close have thin cables */
#define BUSIEST	   10
#define CYCLE_MAX  256
#define CLASSES	   5

struct place {
	double x;
	double y;
	uint32_t rank;	/* of a switch: 0 has hosts */
	uint32_t hosts; /* of a switch: how many */
	uint32_t home;	/* of a host: its switch, as a node */
};

struct picture {
	const struct adv_report_part *p;
	struct place *place; /* of each node */
	double *busy;	     /* of each link: the busier way, 0 to 1 */
	double width;
	double height;
	double gap; /* between nodes beside each other, the least */
	bool circle;
	bool each_host;
};

/* ---- how busy ---- */

static double busy_of(const struct adv_sim *sim, struct adv_link_end from, uint32_t ps_per_byte)
{
	const struct adv_topology *t = &sim->topology;
	const struct adv_egress *e =
		from.node < t->hosts
			? adv_fabric_egress(sim->fabric, from.node)
			: adv_switch_egress(adv_fabric_switch(sim->fabric, from.node - t->hosts),
					    from.port);
	double bytes = 0, now = (double)adv_fabric_now(sim->fabric), part;

	for (unsigned i = 0; i < ADV_PRIORITIES; i++)
		bytes += (double)(e->queue[i].sent_bytes + ADV_WIRE_OVERHEAD * e->queue[i].sent);
	part = now > 0 ? bytes * ps_per_byte / now : 0;
	return part > 1 ? 1 : part;
}

static double link_busy(const struct adv_sim *sim, const struct adv_topology_link *l, unsigned way)
{
	return busy_of(sim, l->end[way], l->cable.ps_per_byte);
}

/* ---- where ---- */

/* How far each switch is from hosts; where the topology knows its levels, those. */
static void rank(struct picture *g)
{
	const struct adv_topology *t = &g->p->sim->topology;
	bool changed = true, levels = false;

	for (uint32_t s = 0; s < t->switches; s++)
		levels |= t->level[s] != t->level[0];
	for (uint32_t n = t->hosts; n < t->hosts + t->switches; n++) {
		uint32_t far = g->place[n].hosts ? 0 : t->switches;

		g->place[n].rank = levels ? t->level[n - t->hosts] : far;
	}
	while (changed && !levels) {
		changed = false;
		for (uint32_t i = 0; i < t->links; i++)
			for (unsigned k = 0; k < 2; k++) {
				struct place *a = &g->place[t->link[i].end[k].node];
				const struct place *b = &g->place[t->link[i].end[1 - k].node];

				if (t->link[i].end[0].node < t->hosts ||
				    t->link[i].end[1].node < t->hosts || a->rank <= b->rank + 1)
					continue;
				a->rank = b->rank + 1;
				changed = true;
			}
	}
}

static void find_homes(struct picture *g)
{
	const struct adv_topology *t = &g->p->sim->topology;

	for (uint32_t i = 0; i < t->links; i++)
		for (unsigned k = 0; k < 2; k++) {
			uint32_t node = t->link[i].end[k].node, peer = t->link[i].end[1 - k].node;

			if (node >= t->hosts)
				continue;
			g->place[node].home = peer;
			if (peer >= t->hosts)
				g->place[peer].hosts++;
		}
}

/* Cables among switches of one level that close a ring. */
static bool is_circle(const struct picture *g)
{
	const struct adv_topology *t = &g->p->sim->topology;
	uint32_t trunks = 0;

	for (uint32_t n = t->hosts; n < t->hosts + t->switches; n++)
		if (g->place[n].rank != 0)
			return false;
	for (uint32_t i = 0; i < t->links; i++)
		trunks += t->link[i].end[0].node >= t->hosts && t->link[i].end[1].node >= t->hosts;
	return t->switches >= 3 && t->switches <= 32 && trunks >= t->switches;
}

static uint32_t ranks_of(const struct picture *g)
{
	const struct adv_topology *t = &g->p->sim->topology;
	uint32_t most = 0;

	for (uint32_t n = t->hosts; n < t->hosts + t->switches; n++)
		most = g->place[n].rank > most ? g->place[n].rank : most;
	return most + 1;
}

static void note_gap(struct picture *g, double gap)
{
	g->gap = gap < g->gap ? gap : g->gap;
}

/* Hosts side by side in the order of their switches, each switch of the lowest rank above the
 * middle of its own. */
static void place_lowest(struct picture *g, double bottom)
{
	const struct adv_topology *t = &g->p->sim->topology;
	uint32_t slots = 0, at = 0;
	double step;

	for (uint32_t n = t->hosts; n < t->hosts + t->switches; n++)
		if (g->place[n].rank == 0 || g->place[n].hosts)
			slots += g->each_host && g->place[n].hosts ? g->place[n].hosts : 1;
	if (t->switches == 0)
		slots = t->hosts;
	step = (g->width - 2 * MARGIN) / slots;
	note_gap(g, step);
	for (uint32_t h = 0; h < t->hosts && t->switches == 0; h++)
		g->place[h].x = MARGIN + step * (h + 0.5), g->place[h].y = bottom;
	for (uint32_t n = t->hosts; n < t->hosts + t->switches; n++) {
		struct place *s = &g->place[n];
		uint32_t mine = g->each_host && s->hosts ? s->hosts : 1, first = at;

		if (s->rank != 0 && !s->hosts)
			continue;
		s->x = MARGIN + step * (at + mine / 2.0);
		for (uint32_t h = 0; s->hosts && h < t->hosts; h++)
			if (g->place[h].home == n) {
				g->place[h].x = g->each_host ? MARGIN + step * (at++ + 0.5) : s->x;
				g->place[h].y = bottom;
			}
		at = first + mine;
	}
}

static void place_levels(struct picture *g)
{
	const struct adv_topology *t = &g->p->sim->topology;
	uint32_t ranks = ranks_of(g);
	double bottom = t->switches ? MARGIN + ranks * ROW_HEIGHT : 2 * MARGIN;

	g->height = bottom + MARGIN;
	place_lowest(g, bottom);
	for (uint32_t r = 0; r < ranks; r++) {
		uint32_t count = 0, at = 0;

		for (uint32_t n = t->hosts; n < t->hosts + t->switches; n++)
			count += g->place[n].rank == r;
		if (count)
			note_gap(g, (g->width - 2 * MARGIN) / count);
		for (uint32_t n = t->hosts; n < t->hosts + t->switches; n++) {
			struct place *s = &g->place[n];

			if (s->rank != r)
				continue;
			s->y = bottom - (r + 1) * ROW_HEIGHT;
			if (r > 0 && !s->hosts)
				s->x = MARGIN + (g->width - 2 * MARGIN) * (at + 0.5) / count;
			at++;
		}
	}
}

static void place_circle(struct picture *g)
{
	const struct adv_topology *t = &g->p->sim->topology;
	double middle = NARROW / 2, inner = 100, outer = 168, turn = 2 * M_PI / t->switches;

	g->width = NARROW;
	g->height = 2 * (outer + MARGIN);
	note_gap(g, inner * turn);
	for (uint32_t s = 0; s < t->switches; s++) {
		struct place *p = &g->place[t->hosts + s];
		double angle = turn * s - M_PI / 2;
		uint32_t i = 0;

		p->x = middle + inner * cos(angle);
		p->y = g->height / 2 + inner * sin(angle);
		for (uint32_t h = 0; h < t->hosts; h++) {
			double part, a;

			if (g->place[h].home != t->hosts + s)
				continue;
			part = g->each_host ? (i++ + 0.5) / p->hosts - 0.5 : 0;
			a = angle + part * turn * 0.9;
			g->place[h].x = middle + outer * cos(a);
			g->place[h].y = g->height / 2 + outer * sin(a);
			note_gap(g, g->each_host ? outer * turn * 0.9 / p->hosts : outer * turn);
		}
	}
}

/* ---- drawing ---- */

static const char *name_of(const struct adv_topology *t, uint32_t node, char text[16])
{
	snprintf(text, 16, "%c%u", node < t->hosts ? 'h' : 's',
		 node < t->hosts ? node : node - t->hosts);
	return text;
}

static unsigned class_of(double busy)
{
	unsigned class = (unsigned)(busy * CLASSES);

	return class < CLASSES ? class : CLASSES - 1;
}

/* Levels away from each other by a straight line, those of one level by an arc. */
static void draw_link(const struct picture *g, uint32_t i)
{
	const struct adv_topology *t = &g->p->sim->topology;
	const struct adv_topology_link *l = &t->link[i];
	const struct place *a = &g->place[l->end[0].node], *b = &g->place[l->end[1].node];
	double far = fabs(a->x - b->x);
	char from[16], to[16];

	fprintf(g->p->out, "<path class=\"link u%u\" data-busy=\"%.4f\" d=\"M%.1f %.1f",
		class_of(g->busy[i]), g->busy[i], a->x, a->y);
	if (!g->circle && a->y == b->y && far > 1.5 * g->gap && ranks_of(g) > 1)
		fprintf(g->p->out, "Q%.1f %.1f", (a->x + b->x) / 2, a->y - 30);
	else
		fputc('L', g->p->out);
	fprintf(g->p->out, " %.1f %.1f\"><title>%s to %s: %.1f %%, back %.1f %%</title></path>\n",
		b->x, b->y, name_of(t, l->end[0].node, from), name_of(t, l->end[1].node, to),
		100 * link_busy(g->p->sim, l, 0), 100 * link_busy(g->p->sim, l, 1));
}

static void draw_links(const struct picture *g)
{
	const struct adv_topology *t = &g->p->sim->topology;

	for (unsigned class = 0; class < CLASSES; class ++) /* the busiest on top */
		for (uint32_t i = 0; i < t->links; i++)
			if (class_of(g->busy[i]) == class)
				draw_link(g, i);
}

static void draw_node(const struct picture *g, uint32_t node, const char *label)
{
	const struct place *p = &g->place[node];
	bool host = node < g->p->sim->topology.hosts;
	double half = g->gap < 30 ? g->gap * 0.42 : 15;
	double tall = half < 10 ? half : 10;

	fprintf(g->p->out, "<g><title>%s</title>", label);
	if (host)
		fprintf(g->p->out, "<circle class=\"node\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>",
			p->x, p->y, half * 0.85);
	else
		fprintf(g->p->out,
			"<rect class=\"node\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
			"rx=\"%.1f\"/>",
			p->x - half, p->y - tall, 2 * half, 2 * tall, tall * 0.4);
	if (g->gap >= 21)
		fprintf(g->p->out,
			"<text class=\"label%s\" x=\"%.1f\" y=\"%.1f\" "
			"text-anchor=\"middle\">%s</text>",
			g->gap < 30 ? " small" : "", p->x, p->y + 3.5, label);
	fprintf(g->p->out, "</g>\n");
}

static void draw_nodes(const struct picture *g)
{
	const struct adv_topology *t = &g->p->sim->topology;
	char text[16];

	for (uint32_t n = 0; n < t->hosts + t->switches; n++) {
		const struct place *home = &g->place[n < t->hosts ? g->place[n].home : n];

		if (n >= t->hosts || g->each_host) {
			draw_node(g, n, name_of(t, n, text));
			continue;
		}
		if (n && g->place[n - 1].home == g->place[n].home)
			continue;
		snprintf(text, sizeof(text), "%u h", home->hosts);
		draw_node(g, n, text);
	}
}

/* Arrows from switch to switch: each waits for the next. */
static void draw_cycle(const struct picture *g, const struct adv_fabric_wait *cycle, unsigned n)
{
	const struct adv_topology *t = &g->p->sim->topology;

	for (unsigned i = 0; i < n; i++) {
		const struct place *a = &g->place[t->hosts + cycle[i].sw];
		const struct place *b =
			&g->place[adv_topology_peer(t, t->hosts + cycle[i].sw, cycle[i].port)];
		double dx = b->x - a->x, dy = b->y - a->y, far = sqrt(dx * dx + dy * dy);

		if (far < 1)
			continue;
		dx /= far;
		dy /= far;
		fprintf(g->p->out,
			"<path class=\"cycle\" data-switch=\"%u\" data-port=\"%u\" "
			"d=\"M%.1f %.1fL%.1f %.1f\" marker-end=\"url(#arrow)\"/>\n",
			cycle[i].sw, cycle[i].port, a->x + dx * 19 + dy * 7,
			a->y + dy * 19 - dx * 7, b->x - dx * 24 + dy * 7, b->y - dy * 24 - dx * 7);
	}
}

static void tell_cycle(const struct adv_report_part *p, const struct adv_fabric_wait *cycle,
		       unsigned n, unsigned length)
{
	fprintf(p->out,
		"<p class=\"alarm\">Deadlock: each of these %u paused queues waits for the "
		"next, the last for the first: ",
		length);
	for (unsigned i = 0; i < n; i++)
		fprintf(p->out, "%sswitch %u port %u priority %u", i ? ", " : "", cycle[i].sw,
			cycle[i].port, cycle[i].priority);
	fprintf(p->out, "%s.</p>\n", n < length ? " ..." : "");
}

static void draw(const struct picture *g, const struct adv_fabric_wait *cycle, unsigned n)
{
	FILE *out = g->p->out;

	fprintf(out,
		"<figure%s><svg xmlns=\"http://www.w3.org/2000/svg\" class=\"net%s\" "
		"data-plot=\"network\" viewBox=\"0 0 %.0f %.0f\" role=\"img\"><title>The topology, "
		"its cables by how busy they were</title>\n<defs><marker id=\"arrow\" "
		"viewBox=\"0 0 10 10\" refX=\"8\" refY=\"5\" markerWidth=\"5\" markerHeight=\"5\" "
		"orient=\"auto\"><path class=\"arrow\" d=\"M0 0L10 5L0 10z\"/></marker></defs>\n",
		g->width > NARROW ? " class=\"wide scroll\"" : "",
		g->gap < CROWDED ? " crowded" : "", g->width, g->height);
	draw_links(g);
	draw_cycle(g, cycle, n);
	draw_nodes(g);
	fprintf(out, "</svg><figcaption><ul class=\"legend\">");
	for (unsigned i = 0; i < CLASSES; i++)
		fprintf(out, "<li><i class=\"k u%u\"></i>%u to %u %%</li>", i, 100 * i / CLASSES,
			100 * (i + 1) / CLASSES);
	if (n)
		fprintf(out, "<li><i class=\"k cycle\"></i>the deadlock's cycle</li>");
	fprintf(out,
		"</ul>Cables by the busier of their two ways, of the whole "
		"run.%s</figcaption></figure>\n",
		g->each_host ? "" : " Hosts of a switch are drawn together.");
}

/* ---- in words ---- */

struct busiest {
	uint32_t link;
	unsigned way;
	double busy;
};

/* Keeps the busiest, in order. */
static unsigned insert(struct busiest *list, unsigned n, struct busiest b)
{
	unsigned i = n < BUSIEST ? n++ : BUSIEST;

	for (; i > 0 && list[i - 1].busy < b.busy; i--)
		if (i < BUSIEST)
			list[i] = list[i - 1];
	if (i < BUSIEST)
		list[i] = b;
	return n;
}

static void tell_busiest(const struct adv_report_part *p)
{
	const struct adv_topology *t = &p->sim->topology;
	struct busiest list[BUSIEST];
	unsigned n = 0;

	for (uint32_t i = 0; i < t->links; i++)
		for (unsigned way = 0; way < 2; way++)
			n = insert(list, n,
				   (struct busiest){i, way, link_busy(p->sim, &t->link[i], way)});
	fprintf(p->out,
		"<details><summary>The busiest cables</summary><div class=\"table\"><table><tr>"
		"<th>from</th><th>to</th><th>busy</th></tr>\n");
	for (unsigned i = 0; i < n; i++) {
		const struct adv_topology_link *l = &t->link[list[i].link];
		char from[16], to[16];

		fprintf(p->out, "<tr><td>%s port %u</td><td>%s port %u</td><td>%.1f %%</td></tr>\n",
			name_of(t, l->end[list[i].way].node, from), l->end[list[i].way].port,
			name_of(t, l->end[1 - list[i].way].node, to), l->end[1 - list[i].way].port,
			100 * list[i].busy);
	}
	fprintf(p->out, "</table></div></details>\n");
}

bool adv_report_network(const struct adv_report_part *p)
{
	const struct adv_topology *t = &p->sim->topology;
	struct adv_fabric_wait cycle[CYCLE_MAX];
	unsigned length = adv_fabric_deadlock(p->sim->fabric, cycle, CYCLE_MAX);
	unsigned n = length < CYCLE_MAX ? length : CYCLE_MAX;
	struct picture g = {.p = p, .gap = WIDE, .each_host = t->hosts <= EACH_HOST};
	bool good;

	g.place = calloc(t->hosts + t->switches, sizeof(*g.place));
	g.busy = calloc(t->links + 1ul, sizeof(*g.busy));
	good = g.place && g.busy;
	if (good) {
		if (length)
			tell_cycle(p, cycle, n, length);
		for (uint32_t i = 0; i < t->links; i++)
			for (unsigned way = 0; way < 2; way++)
				g.busy[i] = fmax(g.busy[i], link_busy(p->sim, &t->link[i], way));
		find_homes(&g);
		rank(&g);
		g.circle = is_circle(&g);
		g.width = (g.each_host ? t->hosts : 0) > 18 || t->switches > 10 ? WIDE : NARROW;
		if (g.circle)
			place_circle(&g);
		else
			place_levels(&g);
		if (t->switches <= SWITCHES && t->links <= LINKS)
			draw(&g, cycle, n);
		else
			fprintf(p->out,
				"<p>%u switches and %u cables are too many for a picture.</p>\n",
				t->switches, t->links);
		tell_busiest(p);
	}
	free(g.place);
	free(g.busy);
	return good;
}
