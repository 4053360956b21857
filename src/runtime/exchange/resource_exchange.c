/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/exchange/resource_exchange.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/rights.h"
#include "base/sys.h"

#define HEAD_LEN offsetof(struct adv_resource_message, object)

static size_t resource_message_length(const struct adv_resource_message *m)
{
	return HEAD_LEN + m->count * sizeof(m->object[0]);
}

int adv_resource_send(int fd, const struct adv_resource_message *m)
{
	ssize_t n = adv_sys_sendto(fd, m, resource_message_length(m), MSG_DONTWAIT | MSG_NOSIGNAL,
				   NULL, 0);

	return n < 0 ? errno : 0;
}

int adv_resource_receive(int fd, struct adv_resource_message *m)
{
	ssize_t n = adv_rights_receive_none(fd, m, sizeof(*m));

	if (n < 0)
		return errno == EMSGSIZE ? EPROTO : errno;
	if (n == 0)
		return EPIPE;
	if ((size_t)n < HEAD_LEN || m->magic != ADV_RESOURCE_EXCHANGE_MAGIC ||
	    m->version != ADV_RESOURCE_EXCHANGE_VERSION || m->count > ADV_RESOURCE_EXCHANGE_MOST ||
	    (size_t)n != resource_message_length(m))
		return EPROTO;
	return 0;
}

bool adv_resource_is_asked(int fd)
{
	uint32_t magic;
	ssize_t n =
		adv_sys_recvfrom(fd, &magic, sizeof(magic), MSG_PEEK | MSG_DONTWAIT, NULL, NULL);

	return n == sizeof(magic) && magic == ADV_RESOURCE_EXCHANGE_MAGIC;
}

void adv_resource_answer(int fd, uint32_t slot, adv_resource_tell *tell, void *user)
{
	struct adv_resource_message *m = malloc(sizeof(*m));

	/* If anything fails, the requester sees the end of the socket. */
	if (m && adv_resource_receive(fd, m) == 0) {
		m->slot = slot;
		m->count = 0;
		m->result = m->kind <= ADV_RESOURCE_LAST ? 0 : EOPNOTSUPP;
		if (!m->result)
			m->count = tell(user, m->kind, &m->from, m->object,
					ADV_RESOURCE_EXCHANGE_MOST);
		(void)adv_resource_send(fd, m);
	}
	free(m);
}
