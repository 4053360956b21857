/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include "base/lines.h"
#include "fabric/network/internal.h"
#include "fabric/network/payload.h"
#include "nic/congestion/congestion_control.h"

/* ---- configuration ---- */

void adv_fabric_defaults(struct adv_fabric_config *config)
{
	*config = (struct adv_fabric_config){
		.buffer = 32u << 20,
		.pause_response = 500 * ADV_PS_PER_NS,
		.mtu = 4096,
		.check_deadlock = 100 * ADV_PS_PER_US,
	};
	for (unsigned p = 0; p < ADV_PRIORITIES; p++)
		config->class[p] =
			(struct adv_class){.weight = p == 3 ? 50 : 10, .alpha_1024 = 1024 / 8};
	config->class[3].lossless = true;
	config->class[3].xon_offset = 2 * 4200;
	config->class[6].weight = 0;
	for (unsigned dscp = 0; dscp < 64; dscp++)
		config->priority_of_dscp[dscp] = (uint8_t)(dscp / 8);
	config->engine.window = 1024;
	config->engine.total_window = 1u << 20;
}

static uint32_t largest_frame(uint32_t mtu)
{
	return mtu + ADV_FRAME_OVERHEAD + ADV_HEADERS_MAX;
}

uint64_t adv_fabric_headroom(struct adv_cable cable, uint32_t mtu, uint64_t pause_response)
{
	uint32_t frame = largest_frame(mtu);
	uint64_t time = adv_wire_time(cable.ps_per_byte, frame) +
			adv_wire_time(cable.ps_per_byte, ADV_PAUSE_FRAME) + 2 * cable.delay +
			pause_response;

	return 2 * frame + (time + cable.ps_per_byte - 1) / cable.ps_per_byte;
}

uint64_t adv_fabric_dedicated(const struct adv_fabric_config *config, struct adv_cable cable)
{
	uint64_t sum = 0;

	for (unsigned p = 0; p < ADV_PRIORITIES; p++) {
		const struct adv_class *c = &config->class[p];

		sum += c->reserved;
		if (c->lossless)
			sum += c->headroom ? c->headroom
					   : adv_fabric_headroom(cable, config->mtu,
								 config->pause_response);
	}
	return sum;
}

/* ---- create and destroy ---- */

static int make_wires(struct adv_fabric *f)
{
	const struct adv_topology *t = f->config.topology;
	uint32_t ports = 0;

	f->wire = adv_lines_calloc((2 * (size_t)t->links + 1) * sizeof(*f->wire));
	f->first_port = calloc(t->switches + 1ul, sizeof(*f->first_port));
	if (!f->wire || !f->first_port)
		return ENOMEM;
	for (uint32_t s = 0; s < t->switches; s++) {
		f->first_port[s] = ports;
		ports += t->ports[t->hosts + s];
	}
	f->first_port[t->switches] = ports;
	f->port_wire = calloc(ports + 1ul, sizeof(*f->port_wire));
	if (!f->port_wire)
		return ENOMEM;
	for (uint32_t i = 0; i < t->links; i++)
		for (unsigned k = 0; k < 2; k++) {
			struct adv_wire *w = &f->wire[f->wires];

			w->from = t->link[i].end[k];
			w->to = t->link[i].end[1 - k];
			w->ps_per_byte = t->link[i].cable.ps_per_byte;
			w->delay = t->link[i].cable.delay;
			w->way[0].to = w->way[1].to = UINT32_MAX;
			if (w->from.node >= t->hosts)
				f->port_wire[f->first_port[w->from.node - t->hosts] +
					     w->from.port] = f->wires;
			else
				f->host[w->from.node].wire = f->wires;
			f->wires++;
		}
	return 0;
}

/* If the configuration has no headroom, sets the headroom of each port to the need of its cable. */
static int set_headroom(struct adv_fabric *f, uint32_t s)
{
	const struct adv_topology *t = f->config.topology;

	for (unsigned port = 0; port < t->ports[t->hosts + s]; port++) {
		const struct adv_wire *w = &f->wire[f->port_wire[f->first_port[s] + port]];
		struct adv_cable cable = {w->ps_per_byte, w->delay};
		uint64_t bytes =
			adv_fabric_headroom(cable, f->config.mtu, f->config.pause_response);

		for (unsigned p = 0; p < ADV_PRIORITIES; p++)
			if (f->config.class[p].lossless && !f->config.class[p].headroom &&
			    (bytes > UINT32_MAX ||
			     adv_switch_set_headroom(f->node[s].sw, port, p, (uint32_t)bytes)))
				return EINVAL;
	}
	return 0;
}

static int make_switch(struct adv_fabric *f, uint32_t s)
{
	const struct adv_topology *t = f->config.topology;
	uint32_t ps_per_byte[ADV_SWITCH_PORTS];
	struct adv_switch_config c = {
		.ports = t->ports[t->hosts + s],
		.ps_per_byte = ps_per_byte,
		.number = &f->port_wire[f->first_port[s]],
		.buffer = f->config.buffer,
		.class = f->config.class,
		.pause_quanta = f->config.pause_quanta,
		.watchdog = f->config.watchdog,
		.routes = &t->routes[s],
		.pool = &f->pool,
		.balance = f->config.balance,
		.seed = adv_rng_next(&f->rng),
	};

	for (unsigned i = 0; i < c.ports; i++)
		ps_per_byte[i] = f->wire[f->port_wire[f->first_port[s] + i]].ps_per_byte;
	f->node[s] = (struct adv_fabric_node){.fabric = f,
					      .sw = adv_switch_create(&c),
					      .timer_at = ADV_CALENDAR_NEVER,
					      .settle_at = ADV_CALENDAR_NEVER,
					      .index = s};
	if (!f->node[s].sw)
		return errno;
	if (adv_fabric_settle_open(f, &f->node[s]))
		return ENOMEM;
	return set_headroom(f, s);
}

static int set_up_fabric(struct adv_fabric *f)
{
	const struct adv_topology *t = f->config.topology;
	int err;

	f->look_ahead = 2 * t->links > ADV_LOOK_AHEAD_WIRES;
	f->calendar = adv_calendar_create(2 * t->links, f->look_ahead);
	f->host = adv_lines_calloc(t->hosts * sizeof(*f->host));
	f->node = adv_lines_calloc((t->switches + 1ul) * sizeof(*f->node));
	f->memory = adv_fabric_payload_create(ADV_FABRIC_MESSAGE_MAX);
	if (!f->calendar || !f->host || !f->node || !f->memory)
		return ENOMEM;
	for (uint32_t h = 0; h < t->hosts; h++)
		if (t->ports[h] != 1)
			return EINVAL;
	err = make_wires(f);
	if (!err)
		err = adv_fabric_deadlock_open(f);
	for (uint32_t s = 0; !err && s < t->switches; s++)
		err = make_switch(f, s);
	for (uint32_t s = 0; !err && s < t->switches; s++)
		adv_fabric_serve(f, s);
	for (uint32_t h = 0; !err && h < t->hosts; h++)
		err = adv_fabric_host_open(f, h);
	if (!err && f->config.check_deadlock)
		adv_fabric_at(f, f->config.check_deadlock, ADV_DUE_CHECK, 0);
	return err ? err : f->no_memory ? ENOMEM : 0;
}

static bool needs_telemetry(const struct adv_cc_config *cc)
{
	const struct adv_cc_ops *ops = cc ? adv_cc_ops_of(cc->algorithm) : NULL;

	return ops && ops->telemetry;
}

struct adv_fabric *adv_fabric_create(const struct adv_fabric_config *config)
{
	uint32_t mtu = config->mtu;
	bool good = mtu >= 256 && mtu <= 4096 && (mtu & (mtu - 1)) == 0;
	struct adv_fabric *f;
	int err;

	good &= config->ack_priority < ADV_PRIORITIES;
	for (unsigned d = 0; d < 64; d++)
		good &= config->priority_of_dscp[d] < ADV_PRIORITIES;
	if (!good) {
		errno = EINVAL;
		return NULL;
	}
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->config = *config;
	f->hosts = config->topology->hosts;
	for (unsigned d = 0; d < 64; d++)
		f->dscps_of[config->priority_of_dscp[d]] |= 1ull << d;
	adv_rng_seed(&f->rng, config->seed);
	f->telemetry = needs_telemetry(config->engine.cc);
	err = set_up_fabric(f);
	if (err) {
		adv_fabric_destroy(f);
		errno = err;
		return NULL;
	}
	return f;
}

void adv_fabric_destroy(struct adv_fabric *f)
{
	if (!f)
		return;
	for (uint32_t h = 0; f->host && h < f->config.topology->hosts; h++)
		adv_fabric_host_close(f, &f->host[h]);
	for (uint32_t s = 0; f->node && s < f->config.topology->switches; s++) {
		adv_switch_destroy(f->node[s].sw);
		adv_departures_free(&f->node[s].departures);
	}
	adv_fabric_deadlock_close(f);
	adv_parts_destroy(f->parts);
	adv_turns_free(f);
	adv_packet_pool_free(&f->pool);
	adv_calendar_destroy(f->calendar);
	free(f->wire);
	free(f->wire_rng);
	free(f->host);
	free(f->node);
	free(f->port_wire);
	free(f->first_port);
	free(f->peer);
	free(f->job);
	free(f->edge);
	free(f->storm);
	adv_fabric_failures_free(f);
	adv_fabric_payload_destroy(f->memory, ADV_FABRIC_MESSAGE_MAX);
	free(f->cycle);
	free(f);
}

/* ---- events ---- */

static void on_switch(void *user, uint64_t now, enum adv_switch_event what, unsigned port,
		      unsigned priority, const struct adv_packet *packet, uint64_t value)
{
	struct adv_fabric_node *n = user;

	adv_fabric_tell(n->fabric, &(struct adv_fabric_event){.at = now,
							      .kind = ADV_FABRIC_SWITCH,
							      .what = what,
							      .node = n->index,
							      .port = (uint16_t)port,
							      .priority = (uint8_t)priority,
							      .value = value});
}

void adv_fabric_watch(struct adv_fabric *f, adv_fabric_watch_fn *fn, void *user)
{
	f->watch = fn;
	f->watch_user = user;
	for (uint32_t s = 0; s < f->config.topology->switches; s++)
		adv_switch_watch(f->node[s].sw, fn ? on_switch : NULL, &f->node[s]);
	adv_fabric_settle_in_time(f);
}

int adv_fabric_sample(struct adv_fabric *f, uint64_t interval)
{
	f->sample = interval;
	adv_fabric_at(f, f->now + interval, ADV_DUE_SAMPLE, 0);
	return f->no_memory ? ENOMEM : 0;
}

/* ---- the loop ---- */

enum adv_fabric_stop adv_fabric_run(struct adv_fabric *f, uint64_t until)
{
	return adv_fabric_run_some(f, until, UINT64_MAX);
}

enum adv_fabric_stop adv_fabric_run_some(struct adv_fabric *f, uint64_t until, uint64_t events)
{
	if (f->parts)
		return adv_parts_run(f, until, events);
	return adv_fabric_run_calendar(f, until, events);
}

/* ---- queries ---- */

uint64_t adv_fabric_now(const struct adv_fabric *f)
{
	return f->now;
}

uint64_t adv_fabric_events(const struct adv_fabric *f)
{
	return adv_parts_events(f);
}

struct adv_switch *adv_fabric_switch(const struct adv_fabric *f, uint32_t sw)
{
	return f->node[sw].sw;
}

struct adv_engine *adv_fabric_engine(const struct adv_fabric *f, uint32_t host)
{
	return f->host[host].engine;
}

const struct adv_egress *adv_fabric_egress(const struct adv_fabric *f, uint32_t host)
{
	return &f->host[host].egress;
}

const struct adv_fabric_host_counters *adv_fabric_host_counters(const struct adv_fabric *f,
								uint32_t host)
{
	return &f->host[host].counters;
}

const struct adv_fabric_external_counters *adv_fabric_external_counters(const struct adv_fabric *f,
									uint32_t host)
{
	return &f->host[host].external;
}

uint64_t adv_fabric_lost(const struct adv_fabric *f)
{
	return adv_parts_lost(f);
}

/* Counts the frames of a list, up to `end`. */
static void count_frames(const struct adv_packet *p, const struct adv_packet *end, uint64_t *frames,
			 uint64_t *bytes)
{
	for (; p != end; p = p->next) {
		*frames += p->kind == ADV_PACKET_DATA;
		*bytes += p->kind == ADV_PACKET_DATA ? p->bytes : 0;
	}
}

/* Returns the frame of a wire whose transmission has not ended, if it counts as on its way already:
 * the buffer of its switch still has it. */
static const struct adv_packet *being_sent(const struct adv_fabric *f, const struct adv_wire *w)
{
	return w->flying.head && w->flying.tail->at > f->now + w->delay ? w->flying.tail : NULL;
}

void adv_fabric_outside(const struct adv_fabric *f, uint64_t *frames, uint64_t *bytes)
{
	*frames = *bytes = 0;
	for (uint32_t i = 0; i < f->wires; i++)
		count_frames(f->wire[i].flying.head, being_sent(f, &f->wire[i]), frames, bytes);
	for (uint32_t i = 0; i < f->config.topology->hosts; i++)
		if (f->host[i].input)
			count_frames(f->host[i].input->waiting.head, NULL, frames, bytes);
}
