/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Injected faults of a device. While a plan is in force, a fault link wraps the device's link, and
 * the engine calls decide_work() to ask whether an operation is to fail. Without a plan, neither
 * happens.
 */
#include "runtime/device/internal.h"

#include <errno.h>
#include <stdio.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/sys.h"
#include "nic/fault/name.h"
#include "runtime/device/streams.h"
#include "runtime/exchange/fault_exchange.h"

_Static_assert((int)ADV_WORK_SEND == (int)ADV_FAULT_SEND_QUEUE &&
		       (int)ADV_WORK_RECV == (int)ADV_FAULT_RECV_QUEUE &&
		       (int)ADV_WORK_SHARED == (int)ADV_FAULT_SHARED_QUEUE,
	       "the same queues");

static uint32_t decide_work(void *user, enum adv_injection what, const struct adv_work *work)
{
	static const enum adv_fault_action actions[] = {
		[ADV_INJECT_POST] = ADV_FAULT_POST,
		[ADV_INJECT_COMPLETION] = ADV_FAULT_COMPLETE,
		[ADV_INJECT_NOT_READY] = ADV_FAULT_RNR,
		[ADV_INJECT_TEAR] = ADV_FAULT_TEAR,
	};
	struct adv_device *d = user;
	struct adv_fault_work w = {.queue = (enum adv_fault_work_queue)work->queue,
				   .opcode = work->opcode,
				   .qpn = work->qpn};
	uint32_t result;

	if (what == ADV_INJECT_TORN) {
		const struct timespec pause = {.tv_nsec = d->tear_ns};

		nanosleep(&pause, NULL);
		return 0;
	}
	w.action = actions[what];
	result = adv_fault_link_decide_work(d->fault, &w);
	if (what == ADV_INJECT_TEAR)
		d->tear_ns = result;
	return result;
}

static const struct adv_fault_state *state_of(const struct adv_device *d)
{
	return d->fault ? adv_fault_link_state(d->fault) : NULL;
}

static bool injects_errors(const struct adv_fault_plan *plan)
{
	for (unsigned i = 0; i < plan->count; i++)
		if (1u << plan->rule[i].action & ADV_FAULT_OF_WORK)
			return true;
	return false;
}

/* False if a rule needs packets that the device does not have. */
static bool can_follow(const struct adv_device *d, const struct adv_fault_plan *plan)
{
	for (unsigned i = 0; d->streams && i < plan->count; i++)
		if (!adv_fault_flow_fits(&plan->rule[i]))
			return false;
	return true;
}

/* Updates the engine's injector after the plan in force has changed or ended. */
static void follow_plan(struct adv_device *d)
{
	const struct adv_fault_state *s = state_of(d);

	adv_engine_set_injector(d->engine, s && injects_errors(&s->plan) ? decide_work : NULL, d);
}

/* Raises the event of a rule. Returns the number of objects that got the event. */
static unsigned raise_event(void *user, const struct adv_fault_rule *r)
{
	struct adv_device *d = user;
	enum ibv_event_type type = (enum ibv_event_type)r->value;
	unsigned n = 1;

	if (!adv_fault_event_has_object(r->value))
		adv_device_deliver_port_event(d, type);
	else
		n = adv_engine_raise(d->engine, adv_device_clock(d), type,
				     r->has_qpn ? r->qpn_first : 0,
				     r->has_qpn ? r->qpn_last : UINT32_MAX);
	if (n)
		adv_info("fault plan: %u times IBV_EVENT_%s", n,
			 adv_fault_value_name(r->action, r->value));
	return n;
}

void adv_device_fault_look(struct adv_device *d, uint64_t now)
{
	const struct adv_fault_state *s = state_of(d);
	bool down = s && adv_fault_port_is_down(s, now);
	bool dead = s && adv_fault_device_is_dead(s, now);

	/* If the port went down and up between two calls, delivers both events now, late. */
	if (s && adv_fault_link_port_blinked(d->fault, now) && !atomic_load(&d->port_down)) {
		adv_device_deliver_port_event(d, IBV_EVENT_PORT_ERR);
		adv_device_deliver_port_event(d, IBV_EVENT_PORT_ACTIVE);
	}
	if (down != atomic_load(&d->port_down)) {
		atomic_store(&d->port_down, down);
		adv_device_deliver_port_event(d, down ? IBV_EVENT_PORT_ERR : IBV_EVENT_PORT_ACTIVE);
	}
	if (dead && !d->dead)
		adv_device_deliver_port_event(d, IBV_EVENT_DEVICE_FATAL);
	d->dead = dead;
	if (s)
		adv_fault_link_raise_events(d->fault, now, raise_event, d);
	if (s && d->streams) /* the fault link is not among its links */
		d->link->deadline = d->fault->deadline;
}

int adv_device_fault_start(struct adv_device *d, char *why, size_t why_len)
{
	struct adv_link *link =
		adv_fault_link_from_environment(d->link, adv_clock_ns, why, why_len);

	if (!link)
		return errno;
	if (link == d->link)
		return 0;
	d->fault = link;
	d->faulty = true;
	adv_device_stack_links(d);
	if (!can_follow(d, &state_of(d)->plan)) {
		snprintf(why, why_len, "ADVERB_FAULT: " ADV_FAULT_NOT_IWARP);
		return EOPNOTSUPP;
	}
	follow_plan(d);
	/* Rules without a time apply before the program can query the port. */
	adv_lock_take(&d->lock);
	adv_device_fault_look(d, adv_clock_ns());
	adv_device_release(d);
	return 0;
}

/* ---- at run time ---- */

static const struct adv_fault_state *show_plan(void *user)
{
	return state_of(user);
}

static int set_plan(void *user, const struct adv_fault_plan *plan)
{
	struct adv_device *d = user;

	if (!can_follow(d, plan))
		return EOPNOTSUPP;
	if (d->fault)
		adv_fault_link_set_plan(d->fault, plan);
	else
		d->fault = adv_fault_link_create(adv_device_wire(d), adv_clock_ns, plan);
	if (!d->fault)
		return ENOMEM;
	d->faulty = true;
	adv_device_stack_links(d);
	follow_plan(d);
	return 0;
}

static void take_packet(void *user, const struct adv_rx_packet *pkt)
{
	struct adv_device *d = user;

	adv_engine_rx(d->engine, adv_device_clock(d), pkt);
}

static void clear_plan(void *user)
{
	struct adv_device *d = user;

	if (!d->fault)
		return;
	(void)adv_fault_link_unwrap(d->fault, take_packet, d);
	d->fault = NULL;
	d->faulty = false;
	adv_device_stack_links(d);
	d->link_full = !d->link->ops->flush(d->link);
	adv_device_streams_go_on(d);
	follow_plan(d);
}

void adv_device_fault_serve(struct adv_device *d, int fd)
{
	const struct adv_fault_exchange_follower follower = {show_plan, set_plan, clear_plan,
							     d->slot.number};
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		seed = adv_clock_ns();
	adv_fault_exchange_answer(fd, &follower, d, seed % ADV_FAULT_SEEDS);
	adv_device_fault_look(d, adv_clock_ns());
	adv_info("fault plan: %s", d->faulty ? "in force" : "none");
}
