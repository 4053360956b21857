/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The state of the emulator as JSON, for `adverb fabric status` and `top`. */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "fabric/emulator/internal.h"
#include "fabric/switch/egress.h"

static void put_number(struct json_object *to, const char *key, uint64_t value)
{
	json_object_object_add(to, key, json_object_new_uint64(value));
}

static struct json_object *show_time(const struct adv_emulator *e)
{
	struct json_object *o = json_object_new_object();
	const struct adv_pace *p = &e->time.pace;

	put_number(o, "virtual_ps", adv_fabric_now(e->config.fabric));
	put_number(o, "clock_ns", adv_clock_ns());
	put_number(o, "numerator", p->numerator);
	put_number(o, "denominator", p->denominator);
	put_number(o, "slips", p->slips);
	put_number(o, "slipped_ns", p->slipped);
	put_number(o, "worst_lag_ns", p->worst);
	return o;
}

static struct json_object *show_program(const struct emulator_program *p)
{
	struct json_object *o = json_object_new_object();

	put_number(o, "pid", (uint64_t)p->pid);
	put_number(o, "frames", p->counters.rx_packets);
	return o;
}

static struct json_object *show_host(const struct adv_emulator *e, uint32_t host)
{
	const struct adv_fabric *f = e->config.fabric;
	const struct adv_fabric_host_counters *c = adv_fabric_host_counters(f, host);
	const struct adv_fabric_external_counters *x = adv_fabric_external_counters(f, host);
	const struct emulator_host *h = &e->host[host];
	struct json_object *o = json_object_new_object(), *programs = json_object_new_array();

	put_number(o, "tx_frames", c->tx_frames);
	put_number(o, "tx_bytes", c->tx_bytes);
	put_number(o, "rx_frames", c->rx_frames);
	put_number(o, "rx_bytes", c->rx_bytes);
	put_number(o, "rx_pause", c->rx_pause);
	put_number(o, "paused", adv_fabric_egress(f, host)->paused);
	put_number(o, "placed", h->placed);
	put_number(o, "program_tx_frames", x->tx_frames);
	put_number(o, "program_rx_frames", x->rx_frames);
	put_number(o, "tx_refused", x->tx_refused + h->tx_refused);
	put_number(o, "rx_unclaimed", h->rx_unclaimed + x->rx_detached);
	put_number(o, "rx_overrun", h->rx_overrun);
	adv_list_for_each(struct emulator_program, p, (struct adv_list *)(uintptr_t)&h->programs,
			  node)
		if (p->attached)
			json_object_array_add(programs, show_program(p));
	json_object_object_add(o, "programs", programs);
	return o;
}

static struct json_object *show_port(const struct adv_switch *sw, unsigned port)
{
	const struct adv_egress *egress = adv_switch_egress(sw, port);
	struct json_object *o = json_object_new_object(), *queues = json_object_new_array();
	struct json_object *sent_of = json_object_new_array();
	uint64_t sent = 0, pauses = 0;

	for (unsigned p = 0; p < ADV_PRIORITIES; p++) {
		json_object_array_add(queues, json_object_new_uint64(egress->queue[p].bytes));
		json_object_array_add(sent_of, json_object_new_uint64(egress->queue[p].sent_bytes));
		sent += egress->queue[p].sent_bytes;
		pauses += egress->pauses[p].count;
	}
	json_object_object_add(o, "queues", queues);
	json_object_object_add(o, "sent", sent_of);
	put_number(o, "paused", egress->paused);
	put_number(o, "ps_per_byte", egress->ps_per_byte);
	put_number(o, "tx_bytes", sent);
	put_number(o, "pauses", pauses);
	return o;
}

static struct json_object *show_switch(const struct adv_emulator *e, uint32_t index)
{
	const struct adv_switch *sw = adv_fabric_switch(e->config.fabric, index);
	const struct adv_switch_counters *c = adv_switch_counters(sw);
	struct json_object *o = json_object_new_object(), *ports = json_object_new_array();
	uint64_t drops = 0;

	put_number(o, "used", adv_switch_used(sw));
	put_number(o, "marked", c->ecn_marked);
	for (unsigned i = 0; i < ADV_DROP_REASONS; i++)
		drops += c->drops[i];
	put_number(o, "dropped", drops);
	put_number(o, "tx_pause", c->tx_pause);
	put_number(o, "storms", c->storms);
	for (unsigned i = 0; i < adv_switch_ports(sw); i++)
		json_object_array_add(ports, show_port(sw, i));
	json_object_object_add(o, "ports", ports);
	return o;
}

/* Lists the cables that are or were disturbed. */
static struct json_object *show_cables(const struct adv_emulator *e)
{
	const struct adv_topology *t = e->config.topology;
	struct json_object *list = json_object_new_array();

	for (uint32_t i = 0; i < t->links; i++) {
		struct adv_fabric_trouble trouble = adv_fabric_trouble_of(e->config.fabric, i);
		uint64_t errors = adv_fabric_fcs_errors(e->config.fabric, i, 0) +
				  adv_fabric_fcs_errors(e->config.fabric, i, 1);
		struct json_object *o;
		char name[EMULATOR_END_NAME];

		if (!trouble.lose && !trouble.corrupt && !trouble.delay && !errors)
			continue;
		o = json_object_new_object();
		adv_emulator_name_end(t, &t->link[i].end[0], name);
		json_object_object_add(o, "cable", json_object_new_string(name));
		adv_emulator_name_end(t, &t->link[i].end[1], name);
		json_object_object_add(o, "to", json_object_new_string(name));
		put_number(o, "drop_per_million", trouble.lose);
		put_number(o, "corrupt_per_million", trouble.corrupt);
		put_number(o, "delay_ps", trouble.delay);
		put_number(o, "fcs_errors", errors);
		json_object_array_add(list, o);
	}
	return list;
}

static struct json_object *show_all(const struct adv_emulator *e)
{
	const struct adv_topology *t = e->config.topology;
	struct json_object *o = json_object_new_object();
	struct json_object *hosts = json_object_new_array(), *switches = json_object_new_array();

	json_object_object_add(o, "scenario", json_object_new_string(e->config.name));
	put_number(o, "pid", (uint64_t)getpid());
	put_number(o, "network", e->place.network);
	put_number(o, "speed_mbps", e->place.speed_mbps);
	json_object_object_add(o, "time", show_time(e));
	for (uint32_t i = 0; i < t->hosts; i++)
		json_object_array_add(hosts, show_host(e, i));
	for (uint32_t i = 0; i < t->switches; i++)
		json_object_array_add(switches, show_switch(e, i));
	json_object_object_add(o, "hosts", hosts);
	json_object_object_add(o, "switches", switches);
	json_object_object_add(o, "cables", show_cables(e));
	put_number(o, "deadlock", adv_fabric_deadlock(e->config.fabric, NULL, 0));
	return o;
}

int adv_emulator_state(const struct adv_emulator *e)
{
	struct json_object *o = show_all(e);
	const char *text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN);
	size_t len = strlen(text);
	int fd = memfd_create("adverb-fabric", MFD_CLOEXEC);
	int error = 0;

	if (fd < 0 || write(fd, text, len) != (ssize_t)len || lseek(fd, 0, SEEK_SET) < 0)
		error = errno ? errno : EIO;
	json_object_put(o);
	if (!error)
		return fd;
	if (fd >= 0)
		close(fd);
	errno = error;
	return -1;
}
