/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Delivers events of the engine and the port, signals eventfds, and publishes counters. */
#include "runtime/device/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/sys.h"
#include "runtime/control/counters.h"
#include "nic/engine/cause.h"
#include "nic/engine/invariants.h"

static void signal_eventfd(int fd, uint64_t times)
{
	(void)!adv_sys_write(fd, &times, sizeof(times));
}

/* Returns the entry of fd's pending signals; NULL: none is pending. */
static struct device_wake *find_wake(struct adv_device *d, int fd)
{
	for (unsigned i = 0; i < d->wake_count; i++)
		if (d->wake[i].fd == fd)
			return &d->wake[i];
	return NULL;
}

void adv_device_wake_later(struct adv_device *d, int fd)
{
	struct device_wake *w = find_wake(d, fd);

	if (fd < 0)
		return;
	if (w)
		w->times++;
	else if (d->wake_count < DEVICE_WAKES)
		d->wake[d->wake_count++] = (struct device_wake){fd, 1};
	else
		signal_eventfd(fd, 1);
}

bool adv_device_wake_cancel(struct adv_device *d, int fd)
{
	struct device_wake *w = find_wake(d, fd);

	if (!w)
		return false;
	if (--w->times == 0)
		*w = d->wake[--d->wake_count];
	return true;
}

/* Logs the cause of an asynchronous event: the event that the application gets does not have it. */
static void log_error(const struct adv_event *event)
{
	struct adv_named_memory m;

	if (event->why && event->qp && adv_qp_refused_memory(event->qp, event->why, &m))
		adv_warn("queue pair 0x%06x: %s (cause %u): rkey 0x%08x, address 0x%llx, %u bytes",
			 adv_qp_num(event->qp), adv_cause(event->why)->text, event->why, m.rkey,
			 (unsigned long long)m.va, m.length);
	else if (event->why && event->qp)
		adv_warn("queue pair 0x%06x: %s (cause %u)", adv_qp_num(event->qp),
			 adv_cause(event->why)->text, event->why);
	else if (event->why)
		adv_warn("%s (cause %u)", adv_cause(event->why)->text, event->why);
}

void adv_device_deliver_events(struct adv_device *d)
{
	struct adv_event event;

	while (adv_engine_event(d->engine, &event)) {
		if (event.kind == ADV_EVENT_COMPLETION) {
			adv_device_wake_later(d, d->callbacks.completion(d->user, event.cq));
			continue;
		}
		log_error(&event);
		adv_device_wake_later(d, d->callbacks.async(d->user, &event));
	}
}

void adv_device_deliver_port_event(struct adv_device *d, enum ibv_event_type type)
{
	adv_list_for_each(struct device_user, u, &d->users, node)
		adv_device_wake_later(d, d->callbacks.port(u->user, type));
}

void adv_device_publish_counters(struct adv_device *d)
{
	struct adv_counters *c = (struct adv_counters *)(void *)d->counters;

	d->counters_due = false;
	d->counters_at = d->now;
	d->counters_next = ADV_NEVER;
	if (!c)
		return;
	c->engine = *adv_engine_counters(d->engine);
	c->link = adv_link_count(d->link);
	/* The engine itself counts in work.send_latency. */
	memcpy(&c->work, adv_engine_work(d->engine),
	       offsetof(struct adv_engine_work, send_latency));
}

void adv_device_publish_latency(struct adv_device *d)
{
	struct adv_counters *c = (struct adv_counters *)(void *)d->counters;

	adv_engine_set_latency(d->engine, c->work.send_latency);
}

/* Ends the program if the engine does not keep an invariant: what it would do next is not known. */
static void check_invariants(const struct adv_device *d)
{
	const char *broken = adv_engine_check(d->engine);

	if (!broken)
		return;
	dprintf(STDERR_FILENO, "ADVERB_PARANOID: %s\n", broken);
	abort();
}

void adv_device_release(struct adv_device *d)
{
	struct device_wake wakes[DEVICE_WAKES];
	unsigned n;

	if (d->paranoid)
		check_invariants(d);
	if (d->counters_due)
		adv_device_publish_counters(d);
	if (adv_engine_todo(d->engine) & ADV_TODO_EVENT)
		adv_device_deliver_events(d);
	n = d->wake_count;
	if (n == 0) {
		adv_lock_release(&d->lock);
		return;
	}
	memcpy(wakes, d->wake, n * sizeof(wakes[0]));
	d->wake_count = 0;
	atomic_fetch_add(&d->waking, 1);
	adv_lock_release(&d->lock);
	for (unsigned i = 0; i < n; i++)
		signal_eventfd(wakes[i].fd, wakes[i].times);
	atomic_fetch_sub(&d->waking, 1);
}

/* True if a thread signals eventfds of the device or of a shard. */
static bool is_waking(struct adv_device *d)
{
	unsigned waking = 0;

	adv_lock_take(&d->lock);
	for (unsigned i = 0; i < atomic_load(&d->shards.count); i++)
		waking += atomic_load(&d->shards.shard[i]->waking);
	adv_lock_release(&d->lock);
	return waking > 0;
}

void adv_device_settle(struct adv_device *d)
{
	while (!adv_device_is_foreign(d) && is_waking(d))
		syscall(SYS_sched_yield);
}
