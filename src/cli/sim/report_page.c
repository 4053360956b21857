/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes the report's page: the template with the main figures as HTML, which need no script, and
 * with the data of the plots. */
#include "cli/sim/report_page.h"

#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/units.h"
#include "base/version.h"
#include "cli/sim/report_bottleneck.h"
#include "cli/sim/report_programs.h"
#include "cli/sim/report_why.h"
#include "fabric/network/calendar.h"

#define FLOWS 60 /* rows of the table of transfers */
#define CYCLE 256

/* Writes text as HTML. Markup is escaped. Bytes that are not printable UTF-8 become U+FFFD. */
static void write_text(FILE *out, const char *text)
{
	while (*text) {
		size_t n = adv_utf8_length(text);
		unsigned char first = (unsigned char)text[0];
		bool control = first < ' ' || first == 0x7f ||
			       (first == 0xc2 && (unsigned char)text[1] < 0xa0);

		if (n == 0 || control)
			fputs("&#xfffd;", out);
		else if (strchr("<>&\"'", first))
			fprintf(out, "&#%u;", first);
		else
			fwrite(text, 1, n, out);
		text += n ? n : 1;
	}
}

/* ---- findings ---- */

static void write_deadlock(const struct adv_report_part *p, unsigned length,
			   const struct adv_fabric_wait *cycle)
{
	fprintf(p->out,
		"<p class=\"finding\"><strong>Deadlock.</strong> Each of these %u paused queues "
		"waits for the next, the last for the first: ",
		length);
	for (unsigned i = 0; i < length && i < CYCLE; i++)
		fprintf(p->out, "%sswitch %u port %u priority %u", i ? ", " : "", cycle[i].sw,
			cycle[i].port, cycle[i].priority);
	fprintf(p->out, "%s.</p>\n", length > CYCLE ? " ..." : "");
}

static bool write_findings(const struct adv_report_part *p)
{
	struct adv_report_bottleneck b = adv_report_find_bottleneck(p->sim, p->record);
	const struct adv_sim *sim = p->sim;
	struct adv_fabric_wait cycle[CYCLE];
	unsigned length = adv_fabric_deadlock(sim->fabric, cycle, CYCLE);
	char from[ADV_NODE_TEXT], to[ADV_NODE_TEXT], peak[ADV_UNITS_TEXT], kmax[ADV_UNITS_TEXT];

	if (length) {
		write_deadlock(p, length, cycle);
		return true;
	}
	if (!b.found) {
		fprintf(p->out, "<p class=\"finding calm\">No frame waited in a switch.</p>\n");
		return true;
	}
	fprintf(p->out,
		"<p class=\"finding\" id=\"bottleneck\"><strong>Bottleneck: %s → %s.</strong> The "
		"queue of priority %u at port %u of switch %u grew to %s",
		adv_report_node(sim, sim->topology.hosts + b.sw, from),
		adv_report_node(sim, b.peer, to), b.priority, b.port, b.sw,
		adv_units_print(ADV_UNIT_BYTES, b.peak, peak));
	if (sim->scenario.priority[b.priority].ecn_max)
		fprintf(p->out, "; K_max is %s",
			adv_units_print(ADV_UNIT_BYTES, sim->scenario.priority[b.priority].ecn_max,
					kmax));
	fprintf(p->out, ". The cable was in use for %u.%u %% of the run.", b.busy / 10000,
		b.busy / 1000 % 10);
	adv_report_why(p->out, sim, p->record, &b);
	fprintf(p->out, "</p>\n");
	return true;
}

/* ---- main figures ---- */

static void write_card(FILE *out, const char *name, const char *key, enum adv_unit unit,
		       uint64_t value)
{
	char text[ADV_UNITS_TEXT];

	fprintf(out,
		"<div><dt>%s</dt><dd data-key=\"%s\" data-value=\"%" PRIu64 "\">%s</dd></div>\n",
		name, key, value, adv_units_print(unit, value, text));
}

static void write_lost(const struct adv_report_part *p, const struct adv_sim_totals *t)
{
	fprintf(p->out, "<p class=\"dim\">Frames lost, by reason:");
	for (unsigned i = 0; i < ADV_DROP_REASONS; i++)
		fprintf(p->out, " %s <span data-lost=\"%s\">%" PRIu64 "</span>,", adv_drop_name(i),
			adv_drop_name(i), t->sw.drops[i]);
	fprintf(p->out,
		" slow host <span data-lost=\"slow host\">%" PRIu64
		"</span>, cable <span data-lost=\"cable\">%" PRIu64
		"</span>. Storms that the watchdog found: %" PRIu64 ".</p>\n",
		t->rx_dropped, adv_fabric_lost(p->sim->fabric), t->sw.storms);
}

static bool write_figures(const struct adv_report_part *p)
{
	struct adv_sim_totals t = adv_sim_add_up(p->sim);
	uint64_t lost = adv_fabric_lost(p->sim->fabric) + t.rx_dropped, bytes = 0;
	uint64_t now = adv_fabric_now(p->sim->fabric);

	for (unsigned i = 0; i < ADV_DROP_REASONS; i++)
		lost += t.sw.drops[i];
	for (uint32_t i = 0; i < p->record->flows; i++)
		bytes += p->record->flow[i].total;
	fprintf(p->out, "<dl class=\"cards\">\n");
	write_card(p->out, "virtual time", "time_ps", ADV_UNIT_TIME, now);
	write_card(p->out, "payload received", "received", ADV_UNIT_BYTES, bytes);
	write_card(p->out, "throughput", "rate_bps", ADV_UNIT_RATE,
		   now ? (uint64_t)((unsigned __int128)bytes * 8 * ADV_PS_PER_S / now) : 0);
	write_card(p->out, "frames lost", "lost", ADV_UNIT_COUNT, lost);
	write_card(p->out, "pause frames", "pause_frames", ADV_UNIT_COUNT, t.sw.tx_pause);
	write_card(p->out, "frames marked", "ecn_marked", ADV_UNIT_COUNT, t.sw.ecn_marked);
	write_card(p->out, "CNPs sent", "np_cnp_sent", ADV_UNIT_COUNT, t.engine.np_cnp_sent);
	write_card(p->out, "timeouts", "local_ack_timeout_err", ADV_UNIT_COUNT,
		   t.engine.local_ack_timeout_err);
	write_card(p->out, "buffer used at most", "buffer_most", ADV_UNIT_BYTES, t.sw.most_used);
	fprintf(p->out, "</dl>\n");
	write_lost(p, &t);
	return true;
}

/* ---- transfers ---- */

static void write_flow(FILE *out, uint32_t i, const struct adv_scenario_flow *flow,
		       const struct adv_sim_flow *r)
{
	const uint64_t times[] = {r->least, r->median, r->p99, r->most};
	char text[ADV_UNITS_TEXT];

	fprintf(out, "<tr data-flow=\"%u\"><th>flow %u</th><td>%u</td><td>%u</td><td>%u</td>", i, i,
		flow->transfers, r->done, r->failed);
	fprintf(out, "<td>%s</td>", adv_units_print(ADV_UNIT_BYTES, r->bytes, text));
	fprintf(out, "<td>%s</td>", adv_units_print(ADV_UNIT_RATE, r->rate, text));
	for (unsigned k = 0; k < 4; k++)
		fprintf(out, "<td data-ps=\"%" PRIu64 "\">%s</td>", times[k],
			r->done ? adv_units_print(ADV_UNIT_TIME, times[k], text) : "-");
	fprintf(out, "</tr>\n");
}

static bool write_flows(const struct adv_report_part *p)
{
	const struct adv_scenario_list *l = &p->sim->scenario.list[ADV_SCENARIO_FLOWS];
	const struct adv_scenario_flow *flow = l->item;

	fprintf(p->out, "<div "
			"class=\"table\"><table><tr><th></th><th>transfers</th><th>done</"
			"th><th>failed</th><th>completed</th><th>rate</th><th>shortest</"
			"th><th>median</th><th>99 %%</th><th>longest</th></tr>\n");
	for (uint32_t i = 0; i < l->count && i < FLOWS; i++) {
		struct adv_sim_flow r;

		if (!adv_sim_flow_result(p->sim, &flow[i], &r))
			return false;
		write_flow(p->out, i, &flow[i], &r);
	}
	fprintf(p->out, "</table></div>\n");
	if (l->count > FLOWS)
		fprintf(p->out, "<p>%u more flows are not shown.</p>\n", l->count - FLOWS);
	return true;
}

/* ---- the template ---- */

static bool write_title(const struct adv_report_part *p)
{
	write_text(p->out, p->sim->file);
	return true;
}

static bool write_summary(const struct adv_report_part *p)
{
	static const char *const controls[ADV_CC_ALGORITHMS] = {
		[ADV_CC_DCQCN] = "DCQCN",   [ADV_CC_NONE] = "none",   [ADV_CC_DCTCP] = "DCTCP",
		[ADV_CC_TIMELY] = "TIMELY", [ADV_CC_SWIFT] = "Swift", [ADV_CC_HPCC] = "HPCC",
	};
	const struct adv_sim *sim = p->sim;

	fprintf(p->out,
		"hosts %u, switches %u, seed <span data-key=\"seed\">%" PRIu64
		"</span>, congestion control: %s. The run ended: <span data-key=\"end\">%s</span>. "
		"Made by adverb sim %s.",
		sim->topology.hosts, sim->topology.switches, sim->scenario.run.seed,
		controls[sim->scenario.host.control], adv_sim_stop_name(sim), ADV_VERSION);
	return true;
}

static bool write_programs(const struct adv_report_part *p)
{
	adv_report_programs(p->out, p->programs, p->program_flows);
	return true;
}

static bool write_data(const struct adv_report_part *p)
{
	struct json_object *data = adv_report_data(p);

	if (data)
		adv_json_print_in_html(p->out, data);
	return data != NULL;
}

static const struct part {
	const char *name;
	bool (*write)(const struct adv_report_part *p);
} parts[] = {
	{"{{title}}", write_title},	  {"{{summary}}", write_summary},
	{"{{findings}}", write_findings}, {"{{figures}}", write_figures},
	{"{{flows}}", write_flows},	  {"{{programs}}", write_programs},
	{"{{data}}", write_data},
};

static const struct part *part_at(const char *text)
{
	for (unsigned i = 0; i < ADV_ARRAY_SIZE(parts); i++)
		if (strncmp(text, parts[i].name, strlen(parts[i].name)) == 0)
			return &parts[i];
	return NULL;
}

bool adv_report_page(const struct adv_report_part *p)
{
	const char *from = adv_report_template, *at = from;

	while ((at = strstr(at, "{{"))) {
		const struct part *part = part_at(at);

		if (!part) {
			at++;
			continue;
		}
		fwrite(from, 1, (size_t)(at - from), p->out);
		if (!part->write(p))
			return false;
		from = at = at + strlen(part->name);
	}
	fputs(from, p->out);
	return true;
}
