/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests of the process that holds a slot. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/sys.h"
#include "runtime/control/internal.h"
#include "runtime/control/memory.h"

/* Requests the carrier, so that the sockets of port 4791 exist as long as this process has a slot,
 * even if adverbd dies. A failure is ignored. */
static void keep_carrier(struct adv_control *c)
{
	struct adv_control_message m;
	int fd, error;

	if (c->system || c->restart.carrier >= 0)
		return;
	adv_control_message_init(&m, ADV_CONTROL_ESTATE, 0);
	error = adv_control_ask(c, &m, &fd);
	pthread_mutex_lock(&c->lock);
	if (!error && fd >= 0)
		adv_control_restart_keep(&c->restart, fd);
	else
		adv_control_close_fd(&fd);
	pthread_mutex_unlock(&c->lock);
}

static bool is_valid_slot(const struct adv_control *c, const struct adv_control_message *m, int fd)
{
	return fd >= 0 && m->body.slot.slot >= ADV_SLOT_FIRST && m->body.slot.slot < ADV_SLOTS &&
	       c->slot_count < ADV_CONTROL_SLOTS;
}

int adv_control_open_slot(struct adv_control *c, const char *device, struct adv_slot *slot,
			  char *why, size_t why_len)
{
	struct adv_control_message m;
	struct adv_control_slot *own;
	int fd, error;

	adv_control_message_init(&m, ADV_CONTROL_OPEN_SLOT, 0);
	snprintf(m.body.slot.device, sizeof(m.body.slot.device), "%s", device);
	error = adv_control_ask(c, &m, &fd);
	if (!error && !is_valid_slot(c, &m, fd))
		error = EPROTO;
	if (error) {
		adv_control_message_explain(&m, error, why, why_len);
		adv_control_close_fd(&fd);
		return error;
	}
	pthread_mutex_lock(&c->lock);
	own = &c->slot[c->slot_count++];
	own->number = m.body.slot.slot;
	memcpy(own->token, m.body.slot.token, sizeof(own->token));
	own->page = NULL;
	pthread_mutex_unlock(&c->lock);
	keep_carrier(c);
	slot->receive_fd = fd;
	slot->number = m.body.slot.slot;
	slot->qpn_first = adv_qpn_of_slot(slot->number);
	slot->qpn_count = ADV_SLOT_QPNS;
	slot->receive_buffer = m.body.slot.receive_buffer;
	return 0;
}

int adv_control_count(struct adv_control *c, const struct adv_slot *slot, uint64_t **page)
{
	struct adv_control_slot *own = adv_control_find_slot(c, slot->number);
	struct adv_control_message m;
	int fd, error;

	if (!own || own->page)
		return EINVAL;
	adv_control_message_init(&m, ADV_CONTROL_COUNT, 0);
	m.body.slot.slot = own->number;
	error = adv_control_ask(c, &m, &fd);
	if (!error && fd < 0)
		error = EPROTO;
	if (!error) {
		pthread_mutex_lock(&c->lock);
		own->page =
			adv_control_memory_map(fd, ADV_CONTROL_PAGE_LEN, PROT_READ | PROT_WRITE);
		error = own->page ? 0 : errno;
		*page = own->page;
		pthread_mutex_unlock(&c->lock);
	}
	adv_control_close_fd(&fd);
	return error;
}

int adv_control_sender(struct adv_control *c, const struct adv_slot *slot, uint16_t port)
{
	struct adv_control_message m;
	int fd, error;

	adv_control_message_init(&m, ADV_CONTROL_SENDER, 0);
	m.body.sender.slot = slot->number;
	m.body.sender.port = port;
	error = adv_control_ask(c, &m, &fd);
	adv_control_close_fd(&fd);
	return error;
}

int adv_control_post_block(struct adv_control *c, struct adv_control_request *r,
			   const struct adv_slot *slot)
{
	adv_control_message_init(&r->message, ADV_CONTROL_BLOCK, 0);
	r->message.body.slot.slot = slot->number;
	return adv_control_post(c, r);
}

int adv_control_block_answer(struct adv_control_request *r, uint32_t *qpn_first, char *why,
			     size_t why_len)
{
	int error = r->error;

	adv_control_close_fd(&r->fd);
	if (!error && r->message.body.block.block >= ADV_BLOCKS)
		error = EPROTO;
	if (error)
		adv_control_message_explain(&r->message, error, why, why_len);
	else
		*qpn_first = adv_block_qpn(r->message.body.block.block);
	return error;
}

static int change_membership(struct adv_control *c, enum adv_control_type type,
			     const struct adv_slot *slot, const struct adv_gid *group,
			     uint32_t ifindex)
{
	struct adv_control_message m;
	int fd, error;

	adv_control_message_init(&m, type, 0);
	m.body.group.slot = slot->number;
	m.body.group.ifindex = ifindex;
	memcpy(m.body.group.group, group->raw, sizeof(m.body.group.group));
	error = adv_control_ask(c, &m, &fd);
	adv_control_close_fd(&fd);
	return error;
}

int adv_control_join(struct adv_control *c, const struct adv_slot *slot,
		     const struct adv_gid *group, uint32_t ifindex)
{
	return change_membership(c, ADV_CONTROL_JOIN, slot, group, ifindex);
}

int adv_control_leave(struct adv_control *c, const struct adv_slot *slot,
		      const struct adv_gid *group, uint32_t ifindex)
{
	return change_membership(c, ADV_CONTROL_LEAVE, slot, group, ifindex);
}
