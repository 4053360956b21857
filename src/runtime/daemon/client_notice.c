/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/daemon/client_notice.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void init_message(struct adv_control_message *m, uint16_t type)
{
	memset(m, 0, sizeof(*m));
	m->magic = ADV_CONTROL_MAGIC;
	m->version = ADV_CONTROL_VERSION;
	m->type = type;
}

int adv_client_notify_with(struct adv_client *c, uint32_t what, int fd)
{
	struct adv_control_message m;

	init_message(&m, ADV_CONTROL_NOTICE);
	m.body.notice.what = what;
	return adv_session_send(c->session.fd, &m, sizeof(m), fd);
}

void adv_client_notify(struct adv_client *c, uint32_t what)
{
	int error;

	c->notices |= what;
	c->wants_room = false;
	if (!c->notices || !c->greeted)
		return;
	error = adv_client_notify_with(c, c->notices, -1);
	if (!error)
		c->notices = 0;
	else if (error == EAGAIN) /* a debugger may have stopped the process */
		c->wants_room = c->all->room_wanted = true;
	else
		c->session.dead = true;
}

void adv_clients_notify_slot(struct adv_clients *all, unsigned slot, uint32_t what)
{
	if (all->owner[slot])
		adv_client_notify(all->owner[slot], what);
}

void adv_client_refuse(int sock, int error, const char *text)
{
	struct adv_control_message m;

	init_message(&m, ADV_CONTROL_REFUSED);
	m.result = error;
	snprintf(m.body.text, sizeof(m.body.text), "%s", text);
	(void)adv_session_send(sock, &m, sizeof(m), -1);
}
