/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connects again after adverbd has closed the connection: either its worker was replaced, or
 * another adverbd was started. The process then resumes its slots.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/sys.h"
#include "runtime/control/dial.h"
#include "runtime/control/internal.h"
#include "runtime/control/memory.h"
#include "runtime/control/start.h"

#define RECONNECT_WAIT_MS 2500 /* shorter than the time for which adverbd keeps a slot */
#define RESTART_WAIT_MS	  1000 /* minimum left whenever another adverbd is being started */

/* Ends the connection. Afterwards only the failed requests and GONE make it readable. */
void adv_control_give_up(struct adv_control *c, const char *because)
{
	adv_warn("the connection to adverbd is lost: %s", because);
	adv_control_hang_up(c);
	adv_control_restart_close(&c->restart);
	adv_control_set_timer(c, 0);
	c->state = CONTROL_GONE;
	adv_control_queue_fail(&c->queue, ECONNRESET);
	adv_change_announce(&c->answers);
	adv_control_wake(c); /* so that adv_control_read() returns the failed requests and GONE */
}

static void retry_later(struct adv_control *c)
{
	adv_control_hang_up(c);
	if (adv_clock_ms() >= c->deadline_ms) {
		adv_control_give_up(c, "adverbd did not accept a new connection in time");
		return;
	}
	c->state = CONTROL_RETRYING;
	adv_control_set_timer(c, ADV_CONTROL_RETRY_MS);
}

/* Requests a slot that this process has held, and a new page for its counters. 0 or errno. */
static int send_resume(struct adv_control *c, const struct adv_control_slot *slot)
{
	struct adv_control_message m;
	int error;

	adv_control_message_init(&m, ADV_CONTROL_RESUME, ++c->serial);
	m.body.slot.slot = slot->number;
	memcpy(m.body.slot.token, slot->token, sizeof(m.body.slot.token));
	error = adv_control_message_send(c->sock, &m);
	c->awaited++;
	if (error || !slot->page)
		return error;
	adv_control_message_init(&m, ADV_CONTROL_COUNT, ++c->serial);
	m.body.slot.slot = slot->number;
	c->awaited++;
	return adv_control_message_send(c->sock, &m);
}

/* Sends all requests at once: HELLO, and RESUME for each slot. 0 or errno. */
static int send_greeting(struct adv_control *c)
{
	struct adv_control_message m;
	int error;

	adv_control_message_init(&m, ADV_CONTROL_HELLO, ++c->serial);
	error = adv_control_message_send(c->sock, &m);
	c->awaited = 1;
	for (unsigned i = 0; !error && i < c->slot_count; i++)
		error = send_resume(c, &c->slot[i]);
	return error;
}

static void redial_daemon(struct adv_control *c)
{
	char why[160] = "";
	int error = adv_control_dial(c->system, &c->sock, why, sizeof(why));
	uint64_t now = adv_clock_ms();

	if (error == EPERM) {
		adv_control_give_up(c, why);
		return;
	}
	if (error == ECONNREFUSED && adv_control_restart_try(&c->restart, now) &&
	    c->deadline_ms < now + RESTART_WAIT_MS)
		c->deadline_ms = now + RESTART_WAIT_MS;
	if (!error)
		error = send_greeting(c);
	if (!error)
		error = adv_control_watch(c, c->sock);
	if (error) {
		retry_later(c);
		return;
	}
	c->state = CONTROL_RESUMING;
	now = adv_clock_ms();
	adv_control_set_timer(c, c->deadline_ms > now ? c->deadline_ms - now : 1);
}

void adv_control_lost(struct adv_control *c)
{
	adv_control_hang_up(c);
	if (c->state == CONTROL_LIVE) {
		adv_control_queue_unsend(&c->queue);
		c->deadline_ms = adv_clock_ms() + RECONNECT_WAIT_MS;
	}
	if (c->state == CONTROL_RESUMING)
		retry_later(c);
	else
		redial_daemon(c);
}

/* Maps the new page of a slot's counters at the address of the old page, because other threads add
 * to the counters at that address. */
static void replace_counters(struct adv_control *c, uint32_t number, int fd)
{
	struct adv_control_slot *slot = adv_control_find_slot(c, number);
	uint64_t *page = NULL;

	if (slot && slot->page && fd >= 0)
		page = adv_control_memory_map(fd, ADV_CONTROL_PAGE_LEN, PROT_READ | PROT_WRITE);
	if (!page)
		return;
	memcpy(page, slot->page, ADV_CONTROL_PAGE_LEN);
	if (mremap(page, ADV_CONTROL_PAGE_LEN, ADV_CONTROL_PAGE_LEN, MREMAP_MAYMOVE | MREMAP_FIXED,
		   slot->page) == MAP_FAILED)
		munmap(page, ADV_CONTROL_PAGE_LEN);
}

/* Maps the GID table of the new adverbd in place of the old table. An adverbd that was started from
 * the carrier has its own table. */
static bool replace_table(struct adv_control *c, int fd)
{
	return fd >= 0 && adv_control_memory_replace((void *)(uintptr_t)c->page, fd,
						     sizeof(*c->page), PROT_READ);
}

void adv_control_resumed(struct adv_control *c, const struct adv_control_message *m, int fd)
{
	if (m->type == ADV_CONTROL_REFUSED || (m->result && m->type != ADV_CONTROL_COUNT)) {
		adv_control_give_up(c, m->body.text);
		return;
	}
	if (m->type == ADV_CONTROL_HELLO &&
	    memcmp(m->body.welcome.instance, c->instance, sizeof(c->instance)) != 0) {
		adv_control_give_up(c, "another adverbd has taken its place");
		return;
	}
	if (m->type == ADV_CONTROL_HELLO && !replace_table(c, fd)) {
		adv_control_give_up(c, "the GID table cannot be mapped");
		return;
	}
	if (m->type == ADV_CONTROL_COUNT && !m->result)
		replace_counters(c, m->body.slot.slot, fd);
	if (c->awaited && --c->awaited)
		return;
	c->state = CONTROL_LIVE;
	adv_control_restart_done(&c->restart);
	adv_control_set_timer(c, 0);
	adv_control_put_notice(c, ADV_CONTROL_NOTICE_GIDS | ADV_CONTROL_NOTICE_PAIRS);
	adv_info("adverbd was replaced; %u slots resumed", c->slot_count);
}

void adv_control_timer(struct adv_control *c)
{
	uint64_t count;

	if (adv_sys_read(c->timer, &count, sizeof(count)) < 0)
		return;
	if (c->state == CONTROL_RETRYING)
		redial_daemon(c);
	else if (c->state == CONTROL_RESUMING)
		adv_control_give_up(c, "the new worker does not answer");
}

void adv_control_restart_daemon(struct adv_control *c)
{
	char why[256] = "";
	int carrier, said, error;

	pthread_mutex_lock(&c->lock);
	carrier = adv_control_restart_begin(&c->restart);
	pthread_mutex_unlock(&c->lock);
	if (carrier < 0)
		return;
	error = adv_control_starter_run(c->restart.starter, carrier, &said, why, sizeof(why));
	adv_sys_close(carrier);
	pthread_mutex_lock(&c->lock);
	adv_control_restart_end(&c->restart, said, error ? why : NULL);
	pthread_mutex_unlock(&c->lock);
}
