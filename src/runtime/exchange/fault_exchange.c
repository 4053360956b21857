/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/exchange/fault_exchange.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rights.h"
#include "base/sys.h"

#define HEAD_LEN offsetof(struct adv_fault_exchange_message, text)

int adv_fault_exchange_send(int fd, const struct adv_fault_exchange_message *m)
{
	ssize_t n =
		adv_sys_sendto(fd, m, HEAD_LEN + m->text_len, MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0);

	return n < 0 ? errno : 0;
}

int adv_fault_exchange_receive(int fd, struct adv_fault_exchange_message *m)
{
	ssize_t n = adv_rights_receive_none(fd, m, sizeof(*m));

	if (n < 0)
		return errno == EMSGSIZE ? EPROTO : errno;
	if (n == 0)
		return EPIPE;
	if ((size_t)n < HEAD_LEN || m->magic != ADV_FAULT_EXCHANGE_MAGIC ||
	    m->version != ADV_FAULT_EXCHANGE_VERSION || m->text_len != (size_t)n - HEAD_LEN)
		return EPROTO;
	return 0;
}

static void set_answer_text(struct adv_fault_exchange_message *m, int result, const char *text)
{
	m->result = result;
	m->text_len = (uint32_t)snprintf(m->text, sizeof(m->text), "%s", text);
}

static void set_requested_plan(struct adv_fault_exchange_message *m,
			       const struct adv_fault_exchange_follower *f, void *user,
			       uint64_t seed)
{
	struct adv_fault_error error;
	struct adv_fault_plan plan;

	if (!adv_fault_plan_parse(&plan, m->text, m->text_len, &error)) {
		set_answer_text(m, EINVAL, error.text);
		return;
	}
	if (!plan.has_seed) {
		plan.has_seed = true;
		plan.seed = seed;
	}
	m->result = f->set(user, &plan);
	if (m->result)
		set_answer_text(m, m->result,
				m->result == EOPNOTSUPP ? ADV_FAULT_NOT_IWARP
							: strerror(m->result));
}

static void put_plan_state(struct adv_fault_exchange_message *m, const struct adv_fault_state *s)
{
	m->text_len = 0;
	m->in_force = s != NULL;
	if (!s)
		return;
	m->packets = s->counters.packets;
	memcpy(m->hits, s->counters.hits, sizeof(s->counters.hits));
	m->hits[ADV_FAULT_EXCHANGE_LOST] = s->counters.lost;
	m->text_len = (uint32_t)adv_fault_plan_print(&s->plan, m->text, sizeof(m->text));
}

static void execute_fault_request(struct adv_fault_exchange_message *m,
				  const struct adv_fault_exchange_follower *f, void *user,
				  uint64_t seed)
{
	m->result = 0;
	m->in_force = 0;
	m->slot = f->slot;
	m->packets = 0;
	memset(m->hits, 0, sizeof(m->hits));
	if (m->command == ADV_FAULT_SET)
		set_requested_plan(m, f, user, seed);
	else if (m->command == ADV_FAULT_CLEAR)
		f->clear(user);
	else if (m->command != ADV_FAULT_SHOW)
		set_answer_text(m, EOPNOTSUPP, "not a command that this version knows");
	if (!m->result)
		put_plan_state(m, f->state(user));
}

/* True if the requesting command has closed its socket. It has then reported that no answer
 * arrived, so the request must not be executed. */
static bool requester_has_closed(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return adv_sys_poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR));
}

void adv_fault_exchange_answer(int fd, const struct adv_fault_exchange_follower *f, void *user,
			       uint64_t seed)
{
	struct adv_fault_exchange_message *m = malloc(sizeof(*m));

	/* If anything fails, the command sees the end of the socket. */
	if (m && adv_fault_exchange_receive(fd, m) == 0 && !requester_has_closed(fd)) {
		execute_fault_request(m, f, user, seed);
		(void)adv_fault_exchange_send(fd, m);
	}
	free(m);
}
