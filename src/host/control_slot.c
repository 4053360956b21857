/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests of a slot's owner that need no more than an answer, and what the daemon says of itself.
 */
#include <errno.h>
#include <string.h>

#include "base/sys.h"
#include "host/control_internal.h"

static void close_fd(int *fd)
{
	if (*fd >= 0)
		adv_sys_close(*fd);
	*fd = -1;
}

int adv_control_open_block(struct adv_control *c, const struct adv_slot *slot, uint32_t *qpn_first,
			   char *why, size_t why_len)
{
	struct adv_control_message m;
	int fd, error;

	adv_control_message_init(&m, ADV_CONTROL_BLOCK, 0);
	m.body.slot.slot = slot->number;
	error = adv_control_ask(c, &m, &fd);
	close_fd(&fd);
	if (!error && m.body.block.block >= ADV_BLOCKS)
		error = EPROTO;
	if (error)
		adv_control_explain(&m, error, why, why_len);
	else
		*qpn_first = adv_block_qpn(m.body.block.block);
	return error;
}

static int membership(struct adv_control *c, enum adv_control_type type,
		      const struct adv_slot *slot, const struct adv_gid *group, uint32_t ifindex)
{
	struct adv_control_message m;
	int fd, error;

	adv_control_message_init(&m, type, 0);
	m.body.group.slot = slot->number;
	m.body.group.ifindex = ifindex;
	memcpy(m.body.group.group, group->raw, sizeof(m.body.group.group));
	error = adv_control_ask(c, &m, &fd);
	close_fd(&fd);
	return error;
}

int adv_control_join(struct adv_control *c, const struct adv_slot *slot,
		     const struct adv_gid *group, uint32_t ifindex)
{
	return membership(c, ADV_CONTROL_JOIN, slot, group, ifindex);
}

int adv_control_leave(struct adv_control *c, const struct adv_slot *slot,
		      const struct adv_gid *group, uint32_t ifindex)
{
	return membership(c, ADV_CONTROL_LEAVE, slot, group, ifindex);
}

int adv_control_status(struct adv_control *c, struct adv_control_status *status)
{
	struct adv_control_message m;
	int fd, error;

	adv_control_message_init(&m, ADV_CONTROL_STATUS, 0);
	error = adv_control_ask(c, &m, &fd);
	close_fd(&fd);
	if (error)
		return error;
	status->worker_pid = m.body.status.worker_pid;
	status->keeper_pid = m.body.status.keeper_pid;
	status->uid = m.body.status.uid;
	status->system = m.body.status.system != 0;
	status->clients = m.body.status.clients;
	status->slots_used = m.body.status.slots_used;
	status->slots_total = m.body.status.slots_total;
	status->sockets = m.body.status.sockets;
	status->blocks_used = m.body.status.blocks_used;
	status->blocks_total = m.body.status.blocks_total;
	status->restarts = m.body.status.restarts;
	status->uptime_ms = m.body.status.uptime_ms;
	status->qp1_dropped = m.body.status.qp1_dropped;
	status->cm_clients = m.body.status.cm_clients;
	status->cm_ids = m.body.status.cm_ids;
	status->cm_connections = m.body.status.cm_connections;
	status->cm_ending = m.body.status.cm_ending;
	status->cm_rx = m.body.status.cm_rx;
	status->cm_tx = m.body.status.cm_tx;
	status->cm_retries = m.body.status.cm_retries;
	status->cm_dropped = m.body.status.cm_dropped;
	return 0;
}

int adv_control_list(struct adv_control *c, uint32_t from, struct adv_control_entry *entry)
{
	struct adv_control_message m;
	int fd, error;

	adv_control_message_init(&m, ADV_CONTROL_LIST, 0);
	m.body.entry.slot = from;
	error = adv_control_ask(c, &m, &fd);
	close_fd(&fd);
	if (error)
		return error;
	entry->slot = m.body.entry.slot;
	entry->blocks = m.body.entry.blocks;
	entry->pid = m.body.entry.pid;
	entry->uid = m.body.entry.uid;
	entry->connected = m.body.entry.connected != 0;
	entry->age_ms = m.body.entry.age_ms;
	memcpy(entry->comm, m.body.entry.comm, sizeof(entry->comm));
	entry->comm[sizeof(entry->comm) - 1] = 0;
	return 0;
}
