/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fabric/emulator/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "fabric/network/calendar.h"
#include "runtime/progress/slice.h"

#define EVENTS 512	  /* of the fabric between two looks at the rings */
#define SERVE  1000000ull /* ns between two looks at the sockets while there are frames */
/* The emulator spins if the next event is this near, ns, as a sleep takes about that long ... */
#define NEAR 20000ull
/* ... or if the last frame of a program is this recent, ns. */
#define RECENT 20000ull

/* ---- create and destroy ---- */

static uint32_t speed_of_host(const struct adv_emulator_config *c)
{
	uint32_t fastest = UINT32_MAX;

	for (uint32_t i = 0; i < c->topology->links; i++)
		for (unsigned k = 0; k < 2; k++)
			if (c->topology->link[i].end[k].node < c->topology->hosts &&
			    c->topology->link[i].cable.ps_per_byte < fastest)
				fastest = c->topology->link[i].cable.ps_per_byte;
	return (uint32_t)((uint64_t)ADV_PS_MBPS / fastest * c->numerator / c->denominator);
}

/* Returns the size of the rings from programs: what a host sends in 2 ms. A NIC has few frames
 * before its queues, but a program may be off its processor for some time. */
static uint32_t tx_size(uint32_t speed_mbps)
{
	uint64_t bytes = 2ull * 1000 * speed_mbps / 8;
	uint32_t size = EMULATOR_TX_MIN;

	while (size < bytes && size < EMULATOR_TX_MAX)
		size *= 2;
	return size;
}

static void start_lldp(struct adv_emulator *e)
{
	int error = e->config.dcbx ? adv_lldp_open(&e->lldp, e->config.dcbx, e->place.hosts,
						   adv_clock_ns())
				   : 0;

	e->config.dcbx = NULL;
	if (error)
		adv_warn("the switches do not send LLDP: %s", strerror(error));
}

static int set_up(struct adv_emulator *e, char why[ADV_EMULATOR_WHY])
{
	int error;

	e->host = calloc(e->place.hosts, sizeof(*e->host));
	e->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!e->host || e->epoll < 0 || adv_spare_open(&e->spare)) {
		snprintf(why, ADV_EMULATOR_WHY, "%s", strerror(errno));
		return errno;
	}
	for (uint32_t i = 0; i < e->place.hosts; i++) {
		adv_list_init(&e->host[i].programs);
		e->host[i].listener = e->host[i].bell = -1;
	}
	error = adv_emulator_time_open(&e->time);
	if (error) {
		snprintf(why, ADV_EMULATOR_WHY, "the memory of the clock: %s", strerror(error));
		return error;
	}
	error = adv_emulator_listen_here(e, why);
	if (!error)
		error = adv_network_open(&e->network, &e->place, e->config.mtu, why);
	if (!error)
		error = adv_emulator_listen(e, why);
	if (!error)
		error = adv_emulator_flows_open(&e->flows);
	if (!error)
		start_lldp(e);
	return error;
}

struct adv_emulator *adv_emulator_create(const struct adv_emulator_config *config,
					 char why[ADV_EMULATOR_WHY])
{
	struct adv_emulator *e = calloc(1, sizeof(*e));

	if (!e) {
		snprintf(why, ADV_EMULATOR_WHY, "%s", strerror(ENOMEM));
		return NULL;
	}
	e->config = *config;
	e->place = (struct adv_port_place){.hosts = config->topology->hosts,
					   .network = config->network,
					   .speed_mbps = speed_of_host(config),
					   .numerator = config->numerator,
					   .denominator = config->denominator,

					   .rx_size = EMULATOR_RX_RING};
	e->place.tx_size = tx_size(e->place.speed_mbps);
	e->epoll = e->listener = e->report_fd = e->down_sock = -1;
	e->time.fd = e->spare.fd = -1;
	e->network = (struct adv_network){.user = -1, .net = -1, .uts = -1};
	e->lldp = (struct adv_lldp){.fd = -1, .at = UINT64_MAX};
	adv_list_init(&e->tools);
	adv_list_init(&e->placed);
	if (e->place.hosts > ADV_EMULATOR_HOSTS) {
		snprintf(why, ADV_EMULATOR_WHY, "more than %d hosts", ADV_EMULATOR_HOSTS);
		e->place.hosts = 0;
	} else if (!set_up(e, why)) {
		adv_fabric_set_external(config->fabric, &adv_emulator_ops, e);
		return e;
	}
	adv_emulator_destroy(e);
	return NULL;
}

void adv_emulator_destroy(struct adv_emulator *e)
{
	if (!e)
		return;
	adv_emulator_close(e);
	adv_spare_close(&e->spare);
	adv_emulator_time_close(&e->time);
	adv_emulator_flows_close(&e->flows);
	adv_lldp_close(&e->lldp);
	adv_emulator_free_frames(e);
	adv_network_close(&e->network);
	free(e->host);
	free(e);
}

/* ---- run ---- */

/* Runs the fabric until `until`, but for EVENTS events at most. Returns false if there is no
 * memory. */
static bool run_fabric(struct adv_emulator *e, uint64_t until, bool *reached)
{
	uint64_t sample = e->config.next ? e->config.next(e->config.user) : UINT64_MAX;
	enum adv_fabric_stop stop;

	/* Samples are taken on time, as in a simulation. */
	if (sample < until)
		until = sample;
	stop = adv_fabric_run_some(e->config.fabric, until, EVENTS);
	*reached = stop == ADV_FABRIC_UNTIL;
	return stop != ADV_FABRIC_NO_MEMORY;
}

static void take_sample(struct adv_emulator *e)
{
	const struct adv_emulator_config *c = &e->config;

	if (c->next && c->next(c->user) <= adv_fabric_now(c->fabric))
		c->sample(c->user);
}

/* Returns the clock's time at which the fabric has to run again, ns. */
static uint64_t next_run(const struct adv_emulator *e)
{
	const struct adv_emulator_config *c = &e->config;
	uint64_t next = adv_fabric_next(c->fabric),
		 sample = c->next ? c->next(c->user) : UINT64_MAX;

	return adv_pace_clock(&e->time.pace, next < sample ? next : sample);
}

/* Waits for the next event or frame. Returns at once if that is near. */
static void rest_until_due(struct adv_emulator *e, uint64_t now)
{
	uint64_t next = next_run(e);

	if (e->lldp.at < next)
		next = e->lldp.at;
	if (adv_emulator_time_wake(&e->time) < next)
		next = adv_emulator_time_wake(&e->time);
	if (next <= now + NEAR || now - e->active_at < RECENT)
		return;
	e->awake = false;
	if (adv_emulator_sleep(e, true))
		adv_emulator_serve(e, next == UINT64_MAX ? UINT64_MAX : next - now - NEAR / 2);
	e->awake = true;
	(void)adv_emulator_sleep(e, false);
}

/* Writes the report if a tool has requested it. 0 or errno. */
static int write_report(struct adv_emulator *e)
{
	struct adv_emulator_flow *flow;
	uint32_t count;
	bool good;

	if (e->report_fd < 0)
		return 0;
	if (!e->config.report)
		return EOPNOTSUPP;
	flow = adv_emulator_flows(&e->flows, &count);
	if (!flow)
		return ENOMEM;
	good = e->config.report(e->config.user, e->report_fd, flow, count);
	free(flow);
	return good ? 0 : EIO;
}

int adv_emulator_run(struct adv_emulator *e)
{
	uint64_t served = 0, now = adv_clock_ns();

	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	adv_slice_shorten();
	adv_emulator_time_start(&e->time, e->config.numerator, e->config.denominator, now,
				adv_fabric_now(e->config.fabric));
	e->awake = true;
	(void)adv_emulator_sleep(e, false);
	while (!e->down && !*e->config.stop) {
		bool reached;

		now = adv_clock_ns();
		adv_emulator_time_look(&e->time, adv_fabric_next(e->config.fabric), now,
				       e->attached);
		if (!run_fabric(e, adv_pace_virtual(&e->time.pace, now), &reached))
			return ENOMEM;
		take_sample(e);
		if (adv_emulator_look(e))
			e->active_at = now;
		adv_emulator_wake(e);
		if (now - served > SERVE) {
			adv_emulator_serve(e, 0);
			served = now;
		}
		if (now >= e->lldp.at)
			adv_lldp_send(&e->lldp, now);
		if (reached)
			rest_until_due(e, now);
	}
	if (e->down)
		adv_emulator_answer_down(e, write_report(e));
	return 0;
}
