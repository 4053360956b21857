/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb plan dcb: the settings of switches and NICs for a scenario, as a checklist. */
#include "cli/plan/plan.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "cli/plan/dcbx.h"
#include "cli/plan/sonic.h"
#include "fabric/plan/dcb.h"

#define SCENARIO_MAX ADV_SCENARIO_FILE_MAX
/* Bytes of an IP packet besides the RoCE payload: IPv6 40, UDP 8, BTH 12, the largest extended
 * headers 28 (AtomicETH), ICRC 4. */
#define IP_OVERHEAD 92

struct options {
	const char *file;
	const char *device;
	const char *compare; /* capture to compare with the plan; or NULL */
	const char *write;   /* capture to write; or NULL */
	bool sonic;
	bool json;
};

struct plan {
	const struct options *o;
	const struct adv_scenario *s;
	struct adv_plan_dcb dcb;
	struct adv_plan_out out;
	struct json_object *steps; /* of the current group; JSON only */
};

/* The name becomes part of shell commands. */
static bool is_device(const char *name)
{
	size_t n =
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");

	return n > 0 && n < 16 && name[n] == '\0' && name[0] != '-';
}

static void read_device(struct argp_state *state, const char *option, const char *arg,
			void *options)
{
	struct options *o = options;

	if (!is_device(arg))
		argp_error(state, "%s: '%s' is not the name of an interface", option, arg);
	o->device = arg;
}

static void check_options(struct argp_state *state, void *options)
{
	const struct options *o = options;

	if (!o->file)
		argp_error(state, "a scenario is needed ('-': standard input)");
	if (o->sonic + !!o->compare + !!o->write > 1)
		argp_error(state, "--sonic, --compare and --write exclude each other");
}

static const struct adv_option option_table[] = {
	{"device", 'd', "NAME", "Name of the interface in the commands (default eth0)",
	 .read = read_device},
	{"sonic", 's', NULL, "Write only the tables of SONiC's config_db.json",
	 ADV_OPTION_INTO(sonic)},
	{"compare", 'c', "CAPTURE",
	 "Compare what ports advertise by DCBX, in LLDP frames of a capture, with the scenario",
	 ADV_OPTION_TEXT(compare)},
	{"write", 'w', "CAPTURE",
	 "Write a capture with the LLDP frame that a port with these settings sends",
	 ADV_OPTION_TEXT(write)},
};

static const struct adv_options syntax = {
	ADV_OPTION_TABLE(option_table),
	.about = "Write the settings with which real switches and NICs behave like a scenario of "
		 "'adverb sim': PFC, ETS, the map of DSCPs, ECN and headroom, as a checklist of "
		 "commands for Linux's dcb, NVIDIA's mlnx_qos, and SONiC. Or compare them with "
		 "what real ports advertise.\vNothing is set. Exit status 1: a port differs "
		 "(--compare). What is explained: " ADV_DOC_DIR "/planners.md",
	.check = check_options, .args = "SCENARIO", .file = offsetof(struct options, file)};

/* ---- output ---- */

static void begin_group(struct plan *p, const char *key, const char *title)
{
	adv_planner_head(&p->out, title);
	p->steps = p->out.json ? adv_json_add_array(p->out.json, key) : NULL;
}

__attribute__((format(printf, 2, 3))) static void print_step(struct plan *p, const char *format,
							     ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, format);
	if (vasprintf(&text, format, ap) < 0)
		abort();
	va_end(ap);
	if (p->steps)
		adv_json_append(p->steps, adv_json_text(text));
	else
		printf("  [ ] %s\n", text);
	free(text);
}

/* Writes a list such as "0,0,0,1,0,0,0,0": a flag of each priority. */
static const char *flags_of(uint8_t priorities, char text[2 * ADV_PRIORITIES])
{
	for (unsigned i = 0; i < ADV_PRIORITIES; i++) {
		text[2 * i] = priorities & (1u << i) ? '1' : '0';
		text[2 * i + 1] = i + 1 < ADV_PRIORITIES ? ',' : '\0';
	}
	return text;
}

/* Writes one word for each priority, with a format of a priority and a number, into a new text. */
static char *words_of(const struct plan *p, const char *separator,
		      void (*write)(const struct plan *p, unsigned priority, FILE *f))
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	for (unsigned i = 0; f && i < ADV_PRIORITIES; i++) {
		if (i)
			fputs(separator, f);
		write(p, i, f);
	}
	if (!f || fclose(f))
		abort();
	return text;
}

static bool is_ets(const struct plan *p, unsigned i)
{
	return !(p->dcb.strict & (1u << i));
}

static void write_pfc(const struct plan *p, unsigned i, FILE *f)
{
	fprintf(f, "%u:%s", i, p->dcb.lossless & (1u << i) ? "on" : "off");
}

static void write_tsa(const struct plan *p, unsigned i, FILE *f)
{
	fprintf(f, "%u:%s", i, is_ets(p, i) ? "ets" : "strict");
}

static void write_bandwidth(const struct plan *p, unsigned i, FILE *f)
{
	fprintf(f, "%u:%u", i, p->dcb.percent[i]);
}

static void write_mlnx_tsa(const struct plan *p, unsigned i, FILE *f)
{
	fputs(is_ets(p, i) ? "ets" : "strict", f);
}

static void write_mlnx_bandwidth(const struct plan *p, unsigned i, FILE *f)
{
	fprintf(f, "%u", p->dcb.percent[i]);
}

/* ---- the plan ---- */

/* Writes the DSCPs of a priority as ranges: "24-31". */
static void format_dscps(const struct adv_plan_dcb *d, unsigned priority, char *text, size_t room)
{
	size_t len = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < 64 && len < room; i++) {
		unsigned last = i;

		if (d->priority_of_dscp[i] != priority)
			continue;
		while (last + 1 < 64 && d->priority_of_dscp[last + 1] == priority)
			last++;
		len += (size_t)snprintf(text + len, room - len, last > i ? "%s%u-%u" : "%s%u",
					len ? "," : "", i, last);
		i = last;
	}
}

static void add_json_priority(struct plan *p, struct json_object *to, unsigned i, const char *dscps)
{
	const struct adv_scenario_priority *c = &p->s->priority[i];
	struct json_object *o = adv_json_object();

	adv_json_append(to, o);
	adv_json_add_number(o, "priority", i);
	adv_json_add_text(o, "dscp", dscps);
	adv_json_add_flag(o, "pfc", c->lossless);
	adv_json_add_flag(o, "strict", !is_ets(p, i));
	adv_json_add_number(o, "percent", p->dcb.percent[i]);
	adv_json_add_flag(o, "ecn", p->dcb.marked & (1u << i));
	adv_json_add_number(o, "k_min", c->ecn_min);
	adv_json_add_number(o, "k_max", c->ecn_max);
	adv_json_add(o, "p_max", adv_json_ratio(c->ecn_probability));
}

static void print_text_priority(struct plan *p, unsigned i, const char *dscps)
{
	const struct adv_scenario_priority *c = &p->s->priority[i];
	char share[16] = "strict", ecn[3 * ADV_UNITS_TEXT + 16] = "no";
	char k_min[ADV_UNITS_TEXT], k_max[ADV_UNITS_TEXT];

	if (is_ets(p, i))
		snprintf(share, sizeof(share), "%u %%", p->dcb.percent[i]);
	if (p->dcb.marked & (1u << i))
		snprintf(ecn, sizeof(ecn), "%s to %s, %g %%",
			 adv_units_print(ADV_UNIT_BYTES, c->ecn_min, k_min),
			 adv_units_print(ADV_UNIT_BYTES, c->ecn_max, k_max),
			 100.0 * (double)c->ecn_probability / (double)ADV_RATIO_ONE);
	printf("  %8u  %-16s  %-8s  %8s  %s\n", i, dscps, c->lossless ? "lossless" : "lossy", share,
	       ecn);
}

static void print_priorities(struct plan *p)
{
	struct json_object *to = p->out.json ? adv_json_add_array(p->out.json, "priorities") : NULL;

	adv_planner_head(&p->out, "  PRIORITY  DSCP              SERVICE      SHARE  ECN");
	for (unsigned i = 0; i < ADV_PRIORITIES; i++) {
		char dscps[256];

		if (!(p->dcb.used & (1u << i)))
			continue;
		format_dscps(&p->dcb, i, dscps, sizeof(dscps));
		if (to)
			add_json_priority(p, to, i, dscps);
		else
			print_text_priority(p, i, dscps);
	}
}

static void print_ports(struct plan *p)
{
	struct json_object *to = p->out.json ? adv_json_add_array(p->out.json, "ports") : NULL;

	adv_planner_head(
		&p->out,
		"  PORTS  TO             SPEED     CABLE  HEADROOM OF A LOSSLESS PRIORITY");
	for (unsigned i = 0; i < p->dcb.ports; i++) {
		const struct adv_plan_dcb_port *port = &p->dcb.port[i];
		uint64_t speed = 8000000000000u / port->cable.ps_per_byte;
		uint64_t length = port->cable.delay / ADV_FIBRE_PS_PER_MM;
		char rate[ADV_UNITS_TEXT], metres[ADV_UNITS_TEXT], bytes[ADV_UNITS_TEXT];
		struct json_object *o;

		if (!to) {
			printf("  %5u  %-6s  %12s  %8s  %s\n", port->count,
			       port->to_host ? "hosts" : "switch",
			       adv_units_print(ADV_UNIT_RATE, speed, rate),
			       adv_units_print(ADV_UNIT_LENGTH, length, metres),
			       adv_units_print(ADV_UNIT_BYTES, port->headroom, bytes));
			continue;
		}
		o = adv_json_object();
		adv_json_append(to, o);
		adv_json_add_number(o, "count", port->count);
		adv_json_add_text(o, "to", port->to_host ? "hosts" : "switch");
		adv_json_add_number(o, "speed", speed);
		adv_json_add_number(o, "cable", length);
		adv_json_add_number(o, "headroom", port->headroom);
	}
}

/* Adds the command that maps the DSCPs of a priority, if it has any. */
static void add_dscps(struct plan *p, unsigned priority)
{
	char list[64 * sizeof(" 63:7")] = "";
	size_t len = 0;

	for (unsigned d = 0; d < 64; d++)
		if (p->dcb.priority_of_dscp[d] == priority)
			len += (size_t)snprintf(list + len, sizeof(list) - len, " %u:%u", d,
						priority);
	if (len)
		print_step(p, "dcb app add dev %s dscp-prio%s", p->o->device, list);
}

static void print_dcb(struct plan *p)
{
	char *pfc = words_of(p, " ", write_pfc), *tsa = words_of(p, " ", write_tsa);
	char *bandwidth = words_of(p, " ", write_bandwidth);
	const char *dev = p->o->device;

	begin_group(p, "linux",
		    "Each NIC, and each port of a Linux switch (iproute2's dcb, lldpad off):");
	print_step(p, "ip link set dev %s mtu %" PRIu64, dev, p->s->host.mtu + IP_OVERHEAD);
	print_step(p, "dcb pfc set dev %s prio-pfc %s", dev, pfc);
	print_step(p,
		   "dcb ets set dev %s willing off prio-tc 0:0 1:1 2:2 3:3 4:4 5:5 6:6 7:7 tc-tsa "
		   "%s tc-bw %s",
		   dev, tsa, bandwidth);
	print_step(p, "dcb app flush dev %s dscp-prio", dev);
	for (unsigned i = 0; i < ADV_PRIORITIES; i++)
		add_dscps(p, i);
	free(pfc);
	free(tsa);
	free(bandwidth);
}

static void print_mlnx(struct plan *p)
{
	char *tsa = words_of(p, ",", write_mlnx_tsa);
	char *bandwidth = words_of(p, ",", write_mlnx_bandwidth);
	const char *dev = p->o->device;
	char flags[2 * ADV_PRIORITIES];

	begin_group(p, "nvidia", "Or each NVIDIA NIC (mlnx_qos, and mlx5's files):");
	print_step(p, "mlnx_qos -i %s --trust=dscp --pfc=%s", dev,
		   flags_of(p->dcb.lossless, flags));
	print_step(p, "mlnx_qos -i %s --prio_tc=0,1,2,3,4,5,6,7 --tsa=%s --tcbw=%s", dev, tsa,
		   bandwidth);
	for (unsigned d = 0; d < 64; d++)
		if (p->dcb.priority_of_dscp[d] != d / 8) /* the NIC's own map */
			print_step(p, "mlnx_qos -i %s --dscp2prio=set,%u,%u", dev, d,
				   p->dcb.priority_of_dscp[d]);
	for (unsigned i = 0; i < ADV_PRIORITIES; i++) {
		if (!(p->dcb.used & p->dcb.marked & (1u << i)) ||
		    p->s->host.control != ADV_CC_DCQCN)
			continue;
		print_step(p, "echo 1 > /sys/class/net/%s/ecn/roce_np/enable/%u", dev, i);
		print_step(p, "echo 1 > /sys/class/net/%s/ecn/roce_rp/enable/%u", dev, i);
	}
	free(tsa);
	free(bandwidth);
}

static void print_programs(struct plan *p)
{
	begin_group(p, "programs", "Each program: the traffic class that reaches the priority:");
	for (unsigned i = 0; i < ADV_PRIORITIES; i++) {
		if (!(p->dcb.lossless & p->dcb.used & (1u << i)))
			continue;
		for (unsigned d = 0; d < 64; d++)
			if (p->dcb.priority_of_dscp[d] == i) {
				print_step(p,
					   "ib_write_bw --tclass=%u, NCCL_IB_TC=%u, "
					   "UCX_IB_TRAFFIC_CLASS=%u, cma_roce_tos -t %u (DSCP %u, "
					   "priority %u)",
					   d << 2, d << 2, d << 2, d << 2, d, i);
				break;
			}
	}
}

static void print_notes(struct plan *p)
{
	const struct adv_plan_dcb *d = &p->dcb;

	adv_planner_note(&p->out,
			 "PFC, the map of DSCPs and ETS must be the same at both ends of each "
			 "cable. DCBX (lldptool, or willing on) may change what is set here.");
	if (d->lossless & ~d->used)
		adv_planner_note(&p->out,
				 "A lossless priority has no DSCP, so no traffic uses it.");
	if (d->lossless & d->strict)
		adv_planner_note(&p->out,
				 "A lossless priority is strict: it can starve all others.");
	adv_planner_note(&p->out, "The headroom is that of the simulated switch. Real equipment "
				  "responds later: compare adverb plan headroom.");
	if (d->rounded)
		adv_planner_note(&p->out, "ETS takes whole percent: the shares are rounded.");
	if (d->more_ports)
		adv_planner_note(&p->out, "More kinds of ports exist than are listed.");
	for (unsigned i = 0; i < ADV_PRIORITIES; i++)
		if (d->lossless & ~d->marked & (1u << i))
			adv_planner_note(&p->out,
					 "Priority %u is lossless and not marked: congestion "
					 "spreads by pauses.",
					 i);
}

static int print_plan(struct plan *p)
{
	struct json_object *sonic = adv_planner_sonic(p->s, &p->dcb);

	if (p->o->sonic) {
		adv_json_print(stdout, sonic);
		if (fflush(stdout) == 0 && !ferror(stdout))
			return 0;
		fprintf(stderr, "adverb plan dcb: the result cannot be written: %m\n");
		return ADV_EXIT_FAILED;
	}
	adv_planner_begin(&p->out, "dcb", p->o->json);
	print_priorities(p);
	print_ports(p);
	print_dcb(p);
	print_mlnx(p);
	begin_group(p, "sonic_steps", "Each SONiC switch:");
	print_step(p, "adverb plan dcb --sonic SCENARIO > qos.json, then config load qos.json");
	print_programs(p);
	print_notes(p);
	if (p->out.json)
		adv_json_add(p->out.json, "sonic", sonic);
	else
		json_object_put(sonic);
	return adv_planner_end(&p->out, true);
}

static int plan_scenario(const struct options *o, const char *text, size_t len)
{
	struct adv_scenario scenario = {.name = ""};
	char why[ADV_SCENARIO_WHY];
	struct adv_topology network;
	struct adv_fabric *fabric;
	int status = ADV_EXIT_USAGE;
	bool good = adv_scenario_read(&scenario, o->file, text, len, why);

	scenario.programs = true; /* a plan needs no flows */
	if (good && adv_scenario_build(&scenario, &network, &fabric, why)) {
		struct plan p = {.o = o, .s = &scenario};
		const char *wrong = adv_plan_dcb(&scenario, &network, fabric, &p.dcb);

		if (wrong)
			fprintf(stderr, "adverb plan dcb: %s: %s\n", o->file, wrong);
		else if (o->compare)
			status = adv_planner_dcbx_compare_capture(&p.dcb, o->compare, o->json);
		else if (o->write)
			status = adv_planner_dcbx_write_capture(&p.dcb, o->write);
		else
			status = print_plan(&p);
		adv_fabric_destroy(fabric);
		adv_topology_free(&network);
	} else {
		fprintf(stderr, "adverb plan dcb: %s\n", why);
	}
	adv_scenario_free(&scenario);
	return status;
}

int adv_plan_dcb_main(int argc, char **argv)
{
	struct options o = {.device = "eth0"};
	size_t len;
	char *text;
	int status;

	if (!adv_command_read(&syntax, argc, argv, &o, &o.json))
		return ADV_EXIT_USAGE;
	text = adv_cli_read_file("adverb plan dcb", o.file, SCENARIO_MAX, &len);
	if (!text)
		return ADV_EXIT_USAGE;
	status = plan_scenario(&o, text, len);
	free(text);
	return status;
}
