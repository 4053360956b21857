/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Passes requests of tools to programs and to adverbd itself. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtime/control/internal.h"

int adv_control_fault(struct adv_control *c, const struct adv_control_fault *target, int *fd,
		      char *why, size_t why_len)
{
	struct adv_control_message m;
	int error;

	adv_control_message_init(&m, ADV_CONTROL_FAULT, 0);
	m.body.fault = *target;
	error = adv_control_ask(c, &m, fd);
	if (!error && (target->kind == ADV_CONTROL_FAULT_OPEN) != (*fd >= 0))
		error = EPROTO;
	if (!error)
		return 0;
	if (error == m.result && m.body.text[0])
		snprintf(why, why_len, "%s", m.body.text);
	else
		snprintf(why, why_len, "adverbd: %s", strerror(error));
	adv_control_close_fd(fd);
	return error;
}
