/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queries adverbd about itself, its slots and their counters, and about neighbours. Requests a
 * socket of its connection manager. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtime/control/internal.h"
#include "runtime/control/counters.h"

int adv_control_status(struct adv_control *c, struct adv_control_status *status)
{
	struct adv_control_message m;
	int fd, error;

	adv_control_message_init(&m, ADV_CONTROL_STATUS, 0);
	error = adv_control_ask(c, &m, &fd);
	adv_control_close_fd(&fd);
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

int adv_control_neighbour(struct adv_control *c, const struct adv_gid *sgid,
			  const struct adv_gid *dgid, uint32_t ifindex, uint8_t mac[6])
{
	struct adv_control_message m;
	int fd, error;

	adv_control_message_init(&m, ADV_CONTROL_NEIGHBOUR, 0);
	memcpy(m.body.neighbour.sgid, sgid->raw, sizeof(m.body.neighbour.sgid));
	memcpy(m.body.neighbour.dgid, dgid->raw, sizeof(m.body.neighbour.dgid));
	m.body.neighbour.ifindex = ifindex;
	error = adv_control_ask(c, &m, &fd);
	adv_control_close_fd(&fd);
	if (!error)
		memcpy(mac, m.body.neighbour.mac, sizeof(m.body.neighbour.mac));
	return error;
}

int adv_control_list(struct adv_control *c, uint32_t from, struct adv_control_entry *entry)
{
	struct adv_control_message m;
	int fd, error;

	adv_control_message_init(&m, ADV_CONTROL_LIST, 0);
	m.body.entry.slot = from;
	error = adv_control_ask(c, &m, &fd);
	adv_control_close_fd(&fd);
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
	memcpy(entry->device, m.body.entry.device, sizeof(entry->device));
	entry->device[sizeof(entry->device) - 1] = 0;
	return 0;
}

/* Reads the counters of a slot, or of a device if the slot is 0. */
static int read_counters(struct adv_control *c, uint32_t slot, const char *device,
			 struct adv_counters *counters)
{
	uint64_t value[ADV_COUNTERS] = {0};
	uint32_t n = 0;

	while (n < ADV_COUNTERS_USED) {
		struct adv_control_message m;
		int fd, error;

		adv_control_message_init(&m, ADV_CONTROL_COUNTERS, 0);
		m.body.counters.first = n;
		m.body.counters.slot = slot;
		snprintf(m.body.counters.device, sizeof(m.body.counters.device), "%s", device);
		error = adv_control_ask(c, &m, &fd);
		adv_control_close_fd(&fd);
		if (!error &&
		    (m.body.counters.count == 0 || m.body.counters.count > ADV_COUNTERS_A_MESSAGE ||
		     m.body.counters.count > ADV_COUNTERS - n))
			error = EPROTO;
		if (error)
			return error;
		memcpy(&value[n], m.body.counters.value, m.body.counters.count * sizeof(value[0]));
		n += m.body.counters.count;
	}
	memcpy(counters, value, sizeof(*counters));
	return 0;
}

int adv_control_counters(struct adv_control *c, const char *device, struct adv_counters *sum)
{
	return read_counters(c, 0, device ? device : "", sum);
}

int adv_control_slot_counters(struct adv_control *c, uint32_t slot, struct adv_counters *counters)
{
	return read_counters(c, slot, "", counters);
}

int adv_control_open_cm(struct adv_control *c, int *fd, char *why, size_t why_len)
{
	struct adv_control_message m;
	int error;

	adv_control_message_init(&m, ADV_CONTROL_OPEN_CM, 0);
	error = adv_control_ask(c, &m, fd);
	if (!error && *fd < 0)
		error = EPROTO;
	if (error) {
		adv_control_message_explain(&m, error, why, why_len);
		adv_control_close_fd(fd);
	}
	return error;
}
