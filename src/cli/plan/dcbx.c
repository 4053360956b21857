/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb plan dcb --compare and --write: DCBX in captures. */
#include "cli/plan/dcbx.h"

#include <stdlib.h>

#include "base/mac.h"
#include "cli/frame/pcap.h"
#include "cli/plan/plan.h"
#include "fabric/plan/dcbx.h"

#define COMMAND	    "adverb plan dcb"
#define CAPTURE_MAX (64u << 20)
#define PORTS_MAX   4096 /* ports of a capture that are remembered */

struct comparison {
	const struct adv_plan_dcb *plan;
	struct json_object *ports;	 /* NULL: output is text */
	struct json_object *differences; /* of the current port, or of the cable */
	struct adv_dcbx end[2];		 /* what the first two ports advertise */
	uint8_t seen[PORTS_MAX][6];
	unsigned count;
	unsigned different; /* ports */
};

static void print_difference(void *user, const char *text)
{
	struct comparison *c = user;

	if (c->differences)
		adv_json_append(c->differences, adv_json_text(text));
	else
		printf("  %s\n", text);
}

/* True if a frame of this port was compared before: LLDP is repeated every 30 s. */
static bool was_seen(struct comparison *c, const uint8_t mac[6])
{
	for (unsigned i = 0; i < c->count; i++)
		if (memcmp(c->seen[i], mac, 6) == 0)
			return true;
	if (c->count < PORTS_MAX)
		memcpy(c->seen[c->count++], mac, 6);
	return false;
}

static void compare_port(struct comparison *c, const struct adv_dcbx *port)
{
	char mac[ADV_MAC_TEXT];
	unsigned n;

	if (was_seen(c, port->mac))
		return;
	adv_mac_print(port->mac, mac);
	if (c->ports) {
		struct json_object *o = adv_json_object();

		adv_json_append(c->ports, o);
		adv_json_add_text(o, "port", mac);
		c->differences = adv_json_add_array(o, "differences");
	} else {
		printf("Port %s:\n", mac);
	}
	if (c->count <= 2)
		c->end[c->count - 1] = *port;
	n = adv_plan_dcbx_compare(c->plan, port, print_difference, c);
	if (n == 0 && !c->ports)
		printf("  As in the scenario.\n");
	c->different += n > 0;
}

/* Two ports in a capture are taken for the ends of one cable. */
static void compare_ends(struct comparison *c, struct json_object *all)
{
	unsigned n;

	if (c->count != 2)
		return;
	if (all)
		c->differences = adv_json_add_array(all, "cable");
	else
		printf("Both ends of the cable:\n");
	n = adv_plan_dcbx_cable(&c->end[0], &c->end[1], print_difference, c);
	if (n == 0 && !all)
		printf("  Nothing differs for good.\n");
	c->different += n > 0;
}

/* Compares all LLDP frames. Returns NULL or the error. */
static const char *read_capture(struct comparison *c, uint8_t *data, size_t len,
				char why[ADV_PCAP_WHY])
{
	struct adv_pcap p;
	const uint8_t *frame;
	size_t frame_len;
	bool whole;

	if (!adv_pcap_open(&p, data, len, why))
		return why;
	while (adv_pcap_next(&p, &frame, &frame_len, &whole, why)) {
		struct adv_dcbx port;
		const char *wrong = adv_dcbx_decode(frame, frame_len, &port);

		if (!wrong)
			compare_port(c, &port);
	}
	return why[0] ? why : NULL;
}

static int end_comparison(struct comparison *c, const char *capture, struct json_object *all)
{
	compare_ends(c, all);
	if (all)
		adv_json_print(stdout, all);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fprintf(stderr, COMMAND ": the result cannot be written: %m\n");
		return ADV_EXIT_FAILED;
	}
	if (c->count == 0)
		fprintf(stderr,
			COMMAND ": %s has no LLDP frame. A port sends one every 30 s: tcpdump -i "
				"IFACE -c 1 -w FILE ether proto 0x88cc\n",
			capture);
	return c->count == 0 || c->different ? ADV_EXIT_FAILED : 0;
}

int adv_planner_dcbx_compare_capture(const struct adv_plan_dcb *plan, const char *capture,
				     bool json)
{
	struct json_object *all = json ? adv_json_object() : NULL;
	struct comparison c = {.plan = plan};
	char why[ADV_PCAP_WHY];
	const char *wrong;
	size_t len;
	char *data = adv_cli_read_file(COMMAND, capture, CAPTURE_MAX, &len);
	int status = ADV_EXIT_USAGE;

	if (data) {
		if (all)
			c.ports = adv_json_add_array(all, "ports");
		wrong = read_capture(&c, (uint8_t *)data, len, why);
		if (wrong) {
			fprintf(stderr, COMMAND ": %s: %s\n", capture, wrong);
		} else {
			status = end_comparison(&c, capture, all);
			all = NULL;
		}
		free(data);
	}
	if (all)
		json_object_put(all);
	return status;
}

int adv_planner_dcbx_write_capture(const struct adv_plan_dcb *plan, const char *capture)
{
	uint8_t frame[ADV_DCBX_FRAME_MAX];
	struct adv_dcbx d;
	size_t len;
	FILE *f = fopen(capture, "we");
	bool good;

	if (!f) {
		fprintf(stderr, COMMAND ": %s: %m\n", capture);
		return ADV_EXIT_USAGE;
	}
	adv_plan_dcbx(plan, &d);
	memcpy(d.mac, (uint8_t[]){0x02, 0, 0, 0, 0, 0x01},
	       sizeof(d.mac)); /* locally administered */
	len = adv_dcbx_encode(&d, frame, sizeof(frame));
	adv_pcap_write_head(f);
	adv_pcap_write(f, 0, frame, len);
	good = fflush(f) == 0 && !ferror(f);
	if (!good)
		fprintf(stderr, COMMAND ": %s: %m\n", capture);
	fclose(f);
	return good ? 0 : ADV_EXIT_FAILED;
}
