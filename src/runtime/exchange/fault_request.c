/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The requesting side of the exchange about faults. */
#include "runtime/exchange/fault_exchange.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/sys.h"
#include "nic/fault/environment.h"

#define SEND_ROOM   (2 * (int)sizeof(struct adv_fault_exchange_message))
#define OWN_WAIT_MS 3000

static int receive_fault_answer(int fd, struct adv_fault_exchange_message *m, int wait_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int n;

	do
		n = adv_sys_poll(&p, 1, wait_ms);
	while (n < 0 && errno == EINTR);
	return n > 0 ? adv_fault_exchange_receive(fd, m) : ETIMEDOUT;
}

static void explain_exchange_error(int error, char *why, size_t why_len)
{
	if (error == ETIMEDOUT)
		snprintf(why, why_len, "no answer: the process is stopped or too busy");
	else if (error == EPIPE)
		snprintf(why, why_len,
			 "no answer: the process ended, or its version of Adverb is older");
	else if (error == EPROTO)
		snprintf(why, why_len, "the process uses another version of Adverb");
	else if (error == EMSGSIZE)
		snprintf(why, why_len,
			 "the plan is too long for a message of this machine "
			 "(net.core.wmem_max)");
	else
		snprintf(why, why_len, "%s", strerror(error));
}

int adv_fault_request(struct adv_control *c, const struct adv_control_fault *target,
		      struct adv_fault_exchange_message *m, int wait_ms, char *why, size_t why_len)
{
	const struct adv_control_fault open = {ADV_CONTROL_FAULT_OPEN, 0};
	const int room = SEND_ROOM;
	int fd = -1, none = -1;
	int error = adv_control_fault(c, &open, &fd, why, why_len);

	if (error)
		return error;
	(void)adv_sys_setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	m->magic = ADV_FAULT_EXCHANGE_MAGIC;
	m->version = ADV_FAULT_EXCHANGE_VERSION;
	error = adv_fault_exchange_send(fd, m);
	if (error)
		explain_exchange_error(error, why, why_len);
	else
		error = adv_control_fault(c, target, &none, why, why_len);
	if (!error) {
		error = receive_fault_answer(fd, m, wait_ms);
		if (error)
			explain_exchange_error(error, why, why_len);
		else if (m->result)
			snprintf(why, why_len, "%.*s", (int)m->text_len, m->text);
	}
	adv_sys_close(fd);
	return error ? error : m->result;
}

void adv_control_tell_faults(struct adv_control *c)
{
	const struct adv_control_fault own = {ADV_CONTROL_FAULT_PROCESS, 0};
	char why[ADV_CONTROL_TEXT_LEN] = "there is no memory";
	struct adv_fault_exchange_message *m;
	struct adv_fault_plan plan;
	int error = adv_fault_environment_read(&plan, why, sizeof(why));

	if (error == ENOENT)
		return;
	m = error ? NULL : calloc(1, sizeof(*m));
	if (m) {
		m->command = ADV_FAULT_SET;
		m->text_len = (uint32_t)adv_fault_plan_print(&plan, m->text, sizeof(m->text));
		error = adv_fault_request(c, &own, m, OWN_WAIT_MS, why, sizeof(why));
	}
	if (!m || error)
		adv_warn("adverbd does not follow the plan of %s: %s", ADV_FAULT_VARIABLE, why);
	free(m);
}
