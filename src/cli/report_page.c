/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The report's page: style, summary, tables, and the parts one after the other. */
#include "cli/report_page.h"

#include <inttypes.h>

#include "cli/report_plot.h"
#include "base/array.h"
#include "base/units.h"
#include "base/version.h"

#define FLOWS 60 /* rows of the table */
#define SHOWN 40 /* sections of a kind whose keys are shown */

/*
 * Colours of Okabe and Ito, which people tell apart whatever their colour vision, darkened or
 * lightened for the background; what they mean is said by dashes, widths or words as well.
 */
static const char style[] =
	":root{color-scheme:light dark;--bg:#fff;--fg:#1c2128;--dim:#57606a;--grid:#e3e7ec;"
	"--card:#f5f7f9;--edge:#d0d7de;--s0:#0072b2;--s1:#d55e00;--s2:#009e73;--s3:#a8488c;"
	"--s4:#b57d00;--s5:#3a9bd9;--s6:#6b5b95;--s7:#4d4d4d;--other:#b4bcc5;--alarm:#b3005c;"
	"--u0:#c3cbd4;--u1:#8fbbdc;--u2:#2f7fb8;--u3:#e69f00;--u4:#d55e00}\n"
	"@media screen and (prefers-color-scheme:dark){:root{--bg:#14171c;--fg:#e4e8ee;"
	"--dim:#9aa4b0;--grid:#2a3038;--card:#1c2128;--edge:#3a424d;--s0:#56b4e9;--s1:#ff8c42;"
	"--s2:#2fc79b;--s3:#e08fc4;--s4:#f0c04a;--s5:#8ab8ff;--s6:#b9a6f2;--s7:#c8ced6;"
	"--other:#59636f;--alarm:#ff6fb5;--u0:#46505c;--u1:#3d6f97;--u2:#56b4e9;--u3:#f0b429;"
	"--u4:#ff7a2e}}\n"
	"*{box-sizing:border-box}body{margin:0 auto;padding:1rem;max-width:74rem;background:"
	"var(--bg);color:var(--fg);font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}\n"
	"h1{font-size:1.5rem;margin:.2em 0}h2{font-size:1.2rem;margin:1.6em 0 .5em}"
	"h3{font-size:1rem;margin:0 0 .3em}p{margin:.5em 0}\n"
	".dim,figcaption{color:var(--dim);font-size:.87rem}.alarm{color:var(--alarm);"
	"font-weight:600;border-left:.3rem solid;padding-left:.6rem}\n"
	".cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.5rem,1fr));gap:.6rem;"
	"margin:1rem 0;padding:0}.cards div{background:var(--card);border:1px solid var(--edge);"
	"border-radius:.5rem;padding:.5rem .7rem}.cards dt{color:var(--dim);font-size:.82rem}"
	".cards dd{margin:0;font-size:1.15rem;font-variant-numeric:tabular-nums}\n"
	".figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,28rem),1fr));"
	"gap:1rem}figure{margin:0;min-width:0;max-width:38rem}figure.wide{max-width:"
	"60rem}"
	"figure.scroll{overflow-x:auto}figure.scroll svg{min-width:40rem}\n"
	"svg.plot,svg.net{display:block;width:100%;height:auto;overflow:visible}"
	"svg text{fill:var(--dim);font:11px system-ui,sans-serif}svg .label{fill:var(--fg);"
	"font-size:10px}svg .small{font-size:8px}"
	".grid{stroke:var(--grid);fill:none}.axis{stroke:var(--dim);fill:none}\n"
	".line{fill:none;stroke-width:1.6;stroke-linejoin:round}.band{stroke:none;opacity:.25}"
	".level,.limit{fill:none;stroke-width:1.2}.levelname{font-weight:600}\n"
	".s0{stroke:var(--s0)}.s1{stroke:var(--s1)}.s2{stroke:var(--s2)}.s3{stroke:var(--s3)}"
	".s4{stroke:var(--s4);stroke-dasharray:7 2}.s5{stroke:var(--s5);stroke-dasharray:4 2}"
	".s6{stroke:var(--s6);stroke-dasharray:2 2}.s7{stroke:var(--s7);stroke-dasharray:8 2 2 2}"
	".other{stroke:var(--other)}.line.other{stroke-width:1}.band.s0{fill:var(--s0)}\n"
	".kmin{stroke:var(--s2);stroke-dasharray:2 3}.kmax{stroke:var(--s2);stroke-dasharray:7 3}"
	".xon{stroke:var(--s3);stroke-dasharray:2 3}.xoff{stroke:var(--s3);stroke-dasharray:7 3}"
	"text.levelname{stroke:var(--bg);stroke-width:3px;stroke-dasharray:none;paint-order:stroke}"
	"text.kmin,text.kmax{fill:var(--s2)}"
	"text.xon,text.xoff{fill:var(--s3)}\n"
	".p1,.p2,.p3,.p4{fill:var(--s1);color:var(--s1)}.p1{opacity:.3}.p2{opacity:.5}"
	".p3{opacity:.75}\n"
	".link{fill:none}.u0{stroke:var(--u0);stroke-width:1.2}.u1{stroke:var(--u1);"
	"stroke-width:1.8}.u2{stroke:var(--u2);stroke-width:2.4}.u3{stroke:var(--u3);"
	"stroke-width:3.2}.u4{stroke:var(--u4);stroke-width:4}.crowded "
	"path.link{stroke-width:1}.node{fill:var(--card);"
	"stroke:var(--dim)}path.cycle{fill:none;stroke:var(--alarm);stroke-width:3.5;"
	"stroke-dasharray:6 3}.arrow{fill:var(--alarm)}\n"
	".legend{list-style:none;margin:.2rem 0;padding:0;display:flex;flex-wrap:wrap;"
	"gap:.1rem 1.1rem}i.k{display:inline-block;width:1.5rem;height:0;vertical-align:middle;"
	"margin-right:.4rem;border-top:.2rem solid}i.b{display:inline-block;width:0;height:0;"
	"border:.4em solid}i.s0{color:var(--s0)}i.s1{color:var(--s1)}i.s2{color:var(--s2)}"
	"i.s3{color:var(--s3)}i.s4{color:var(--s4)}i.s5{color:var(--s5)}i.s6{color:var(--s6)}"
	"i.s7{color:var(--s7)}i.other{color:var(--other)}i.s4,i.s5,i.s6,i.s7,i.cycle,i.xoff,i.xon,"
	"i.kmax,i.kmin{"
	"border-top-style:dashed}i.xon,i.kmin{border-top-style:dotted}i.xoff,i.xon{color:var(--s3)}"
	"i.kmax,i.kmin{color:var(--s2)}i.cycle{color:var(--alarm)}i.u0{color:var(--u0)}"
	"i.u1{color:var(--u1)}i.u2{color:var(--u2)}i.u3{color:var(--u3)}i.u4{color:var(--u4)}\n"
	".table{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem;"
	"font-variant-numeric:tabular-nums}th,td{padding:.2rem .7rem .2rem 0;text-align:right;"
	"white-space:nowrap;border-bottom:1px solid var(--grid)}th{color:var(--dim);"
	"font-weight:600}th:first-child,td:first-child{text-align:left}.keys td,.keys th{"
	"text-align:left}summary{cursor:pointer;margin:.6em 0}\n"
	"@media screen and (max-width:34rem){svg.plot text{font-size:13px}h1{font-size:1.2rem}}\n"
	"@media print{body{max-width:none;padding:0;font-size:10pt}figure,.cards div,tr{"
	"break-inside:avoid}h2,h3{break-after:avoid}figure.scroll svg{min-width:0}"
	".figures{grid-template-columns:1fr 1fr}}\n";

/* ---- summary ---- */

static void card(FILE *out, const char *name, const char *key, uint64_t value, const char *text)
{
	fprintf(out,
		"<div><dt>%s</dt><dd data-key=\"%s\" data-value=\"%" PRIu64 "\">%s</dd></div>\n",
		name, key, value, text);
}

static void count_card(FILE *out, const char *name, const char *key, uint64_t value)
{
	char text[ADV_PLOT_TEXT];

	card(out, name, key, value, adv_plot_number(ADV_PLOT_COUNT, (double)value, text));
}

static void cards(const struct adv_report_part *p, const struct adv_sim_totals *t)
{
	uint64_t lost = adv_fabric_lost(p->sim->fabric) + t->rx_dropped, bytes = 0;
	double now = (double)adv_fabric_now(p->sim->fabric);
	char text[ADV_PLOT_TEXT];

	for (unsigned i = 0; i < ADV_DROP_REASONS; i++)
		lost += t->sw.drops[i];
	for (uint32_t i = 0; i < p->record->flows; i++)
		bytes += p->record->flow[i].total;
	fprintf(p->out, "<dl class=\"cards\">\n");
	card(p->out, "virtual time", "time_ps", adv_fabric_now(p->sim->fabric),
	     adv_plot_number(ADV_PLOT_TIME, now, text));
	card(p->out, "payload received", "received", bytes,
	     adv_plot_number(ADV_PLOT_BYTES, (double)bytes, text));
	card(p->out, "throughput", "rate_bps", now > 0 ? (uint64_t)((double)bytes * 8e12 / now) : 0,
	     adv_plot_number(ADV_PLOT_RATE, now > 0 ? (double)bytes * 8e12 / now : 0, text));
	count_card(p->out, "frames lost", "lost", lost);
	count_card(p->out, "pause frames", "pause_frames", t->sw.tx_pause);
	count_card(p->out, "frames marked", "ecn_marked", t->sw.ecn_marked);
	count_card(p->out, "CNPs sent", "np_cnp_sent", t->engine.np_cnp_sent);
	count_card(p->out, "timeouts", "local_ack_timeout_err", t->engine.local_ack_timeout_err);
	card(p->out, "buffer used at most", "buffer_most", t->sw.most_used,
	     adv_plot_number(ADV_PLOT_BYTES, (double)t->sw.most_used, text));
	fprintf(p->out, "</dl>\n");
}

static void lost(const struct adv_report_part *p, const struct adv_sim_totals *t)
{
	fprintf(p->out, "<p class=\"dim\">Frames lost, by reason:");
	for (unsigned i = 0; i < ADV_DROP_REASONS; i++)
		fprintf(p->out, " %s <span data-lost=\"%s\">%" PRIu64 "</span>,", adv_drop_name(i),
			adv_drop_name(i), t->sw.drops[i]);
	fprintf(p->out,
		" slow host <span data-lost=\"slow host\">%" PRIu64
		"</span>, cable <span data-lost=\"cable\">%" PRIu64 "</span>. Storms that the "
		"watchdog found: %" PRIu64 ".</p>\n",
		t->rx_dropped, adv_fabric_lost(p->sim->fabric), t->sw.storms);
}

/* ---- tables ---- */

static void flow_row(FILE *out, uint32_t i, const struct adv_scenario_flow *flow,
		     const struct adv_sim_flow *r)
{
	const uint64_t times[] = {r->least, r->median, r->p99, r->most};
	char text[ADV_PLOT_TEXT];

	fprintf(out, "<tr data-flow=\"%u\"><td>flow %u</td><td>%u</td><td>%u</td><td>%u</td>", i, i,
		flow->transfers, r->done, r->failed);
	fprintf(out, "<td>%s</td>", adv_plot_number(ADV_PLOT_BYTES, (double)r->bytes, text));
	fprintf(out, "<td>%s</td>", adv_plot_number(ADV_PLOT_RATE, (double)r->rate, text));
	for (unsigned k = 0; k < 4; k++)
		fprintf(out, "<td data-ps=\"%" PRIu64 "\">%s</td>", times[k],
			r->done ? adv_plot_number(ADV_PLOT_TIME, (double)times[k], text) : "-");
	fprintf(out, "</tr>\n");
}

static bool flow_table(const struct adv_report_part *p)
{
	const struct adv_scenario_list *l = &p->sim->scenario.list[ADV_SCENARIO_FLOWS];
	const struct adv_scenario_flow *flow = l->item;

	fprintf(p->out,
		"<div class=\"table\"><table><tr><th></th><th>transfers</th><th>done</th>"
		"<th>failed</th><th>completed</th><th>rate</th><th>shortest</th><th>median</th>"
		"<th>99 %%</th><th>longest</th></tr>\n");
	for (uint32_t i = 0; i < l->count && i < FLOWS; i++) {
		struct adv_sim_flow r;

		if (!adv_sim_flow_result(p->sim, &flow[i], &r))
			return false;
		flow_row(p->out, i, &flow[i], &r);
	}
	fprintf(p->out, "</table></div>\n");
	if (l->count > FLOWS)
		fprintf(p->out, "<p>%u more flows are not shown.</p>\n", l->count - FLOWS);
	return true;
}

static void parameter(void *user, const char *section, const char *key, const char *value)
{
	FILE *out = user;

	fprintf(out, "<tr><td>");
	adv_html_text(out, section);
	fprintf(out, "</td><td>");
	adv_html_text(out, key);
	fprintf(out, "</td><td>");
	adv_html_text(out, value);
	fprintf(out, "</td></tr>\n");
}

static void parameters(const struct adv_report_part *p)
{
	fprintf(p->out,
		"<h2>Parameters</h2>\n<p class=\"dim\">What the scenario says, or --set; all "
		"else is as by default. Of sections that are there many times, the first "
		"%u.</p>\n<details open><summary>Keys and values</summary>"
		"<div class=\"table\"><table class=\"keys\">"
		"<tr><th>section</th><th>key</th><th>value</th></tr>\n",
		SHOWN);
	adv_scenario_changes(&p->sim->scenario, SHOWN, parameter, p->out);
	fprintf(p->out, "</table></div></details>\n");
}

/* ---- the page ---- */

static void head(const struct adv_report_part *p)
{
	const struct adv_sim *sim = p->sim;

	fprintf(p->out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
			"<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
			"<link rel=\"icon\" href=\"data:,\">\n<title>");
	adv_html_text(p->out, sim->file);
	fprintf(p->out, " - adverb sim</title>\n<style>\n%s</style>\n</head>\n<body>\n<h1>", style);
	adv_html_text(p->out, sim->file);
	fprintf(p->out,
		"</h1>\n<p class=\"dim\">hosts <span data-key=\"hosts\">%u</span>, "
		"switches <span data-key=\"switches\">%u</span>, seed <span "
		"data-key=\"seed\">%" PRIu64
		"</span>, congestion control %s; the run ended: <span data-key=\"end\">%s</span>. "
		"Made by adverb sim %s.</p>\n",
		sim->topology.hosts, sim->topology.switches, sim->scenario.run.seed,
		sim->scenario.host.ecn ? "DCQCN" : "none", adv_sim_stop_name(sim), ADV_VERSION);
}

bool adv_report_page(const struct adv_report_part *p)
{
	static const struct {
		const char *name;
		bool (*write)(const struct adv_report_part *p);
	} parts[] = {
		{"Network", adv_report_network},
		{"Queues", adv_report_queues},
		{"Pauses", adv_report_pauses},
		{"Rates of flows", adv_report_rates},
		{"Flow completion times", adv_report_times},
		{"Transfers", flow_table},
		{"Marks, CNPs, losses", adv_report_marks},
	};
	struct adv_sim_totals t = adv_sim_add_up(p->sim);
	bool good = true;

	head(p);
	cards(p, &t);
	lost(p, &t);
	for (unsigned i = 0; good && i < ADV_ARRAY_SIZE(parts); i++) {
		fprintf(p->out, "<h2>%s</h2>\n", parts[i].name);
		good = parts[i].write(p);
	}
	parameters(p);
	fprintf(p->out, "</body>\n</html>\n");
	return good;
}
