/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Mappings: memory of the application that the peer writes into directly. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/export.h"
#include "abi/rsocket/cancel.h"
#include "abi/rsocket/message.h"
#include "abi/rsocket/state.h"
#include "abi/rsocket/table.h"
#include "abi/rsocket/wait.h"

/* Returns the index of a free entry of the peer's table; -1: there is none. */
static int find_free_entry(struct adv_rs_stream *s)
{
	if (!s->peer_table_used && s->peer_table.length > 0)
		s->peer_table_used = calloc(s->peer_table.length, 1);
	for (uint32_t i = 0; s->peer_table_used && i < s->peer_table.length; i++) {
		if (!s->peer_table_used[i])
			return (int)i;
	}
	return -1;
}

static int add_mapping(struct adv_rsocket *rs, void *buf, size_t len, int prot, uint64_t offset)
{
	struct adv_rs_stream *s = &rs->s;
	struct adv_rs_mapped *mapped;
	bool remote = prot & PROT_WRITE;
	int access = IBV_ACCESS_LOCAL_WRITE | (remote ? IBV_ACCESS_REMOTE_WRITE : 0);
	int index = -1;

	if (!s->pd || len == 0 || len > UINT32_MAX)
		return adv_rs_error(EINVAL);
	if (remote) {
		index = find_free_entry(s);
		if (index < 0)
			return adv_rs_error(ENOMEM);
	}
	mapped = calloc(1, sizeof(*mapped));
	if (!mapped)
		return -1;
	mapped->mr = ibv_reg_mr(s->pd, buf, len, access);
	if (!mapped->mr) {
		free(mapped);
		return -1;
	}
	mapped->offset = offset;
	mapped->index = index;
	if (remote)
		s->peer_table_used[index] = 1;
	adv_list_add_tail(remote ? &s->mapped_unsent : &s->mapped, &mapped->link);
	return 0;
}

ADV_EXPORT off_t riomap(int socket, void *buf, size_t len, int prot, int flags, off_t offset)
{
	struct adv_rsocket *rs = adv_rs_begin(socket);
	int ret;

	if (!rs)
		return -1;
	if (rs->type != SOCK_STREAM || (prot & ~(PROT_WRITE | PROT_NONE)) || offset < -1) {
		adv_rs_end(rs);
		return adv_rs_error(EINVAL);
	}
	if (offset == -1)
		offset = (off_t)(uintptr_t)buf;
	pthread_mutex_lock(&rs->lock);
	ret = add_mapping(rs, buf, len, prot, (uint64_t)offset);
	pthread_mutex_unlock(&rs->lock);
	adv_rs_end(rs);
	return ret ? -1 : offset;
}

static void remove_mapping(struct adv_rs_stream *s, struct adv_rs_mapped *mapped)
{
	adv_list_del(&mapped->link);
	if (mapped->index >= 0)
		s->peer_table_used[mapped->index] = 0;
	ibv_dereg_mr(mapped->mr);
	free(mapped);
}

static bool remove_mapping_in(struct adv_rs_stream *s, struct adv_list *list, const void *buf,
			      size_t len)
{
	adv_list_for_each(struct adv_rs_mapped, mapped, list, link) {
		if (mapped->mr->addr == buf && mapped->mr->length == len) {
			remove_mapping(s, mapped);
			return true;
		}
	}
	return false;
}

ADV_EXPORT int riounmap(int socket, void *buf, size_t len)
{
	struct adv_rsocket *rs = adv_rs_begin(socket);
	bool found;

	if (!rs)
		return -1;
	pthread_mutex_lock(&rs->lock);
	found = rs->type == SOCK_STREAM &&
		(remove_mapping_in(&rs->s, &rs->s.mapped, buf, len) ||
		 remove_mapping_in(&rs->s, &rs->s.mapped_unsent, buf, len));
	pthread_mutex_unlock(&rs->lock);
	adv_rs_end(rs);
	return found ? 0 : adv_rs_error(EINVAL);
}

void adv_rs_mappings_free(struct adv_rsocket *rs)
{
	struct adv_list *lists[] = {&rs->s.mapped, &rs->s.mapped_unsent};

	for (size_t i = 0; i < ADV_ARRAY_SIZE(lists); i++) {
		while (!adv_list_empty(lists[i]))
			remove_mapping(&rs->s, adv_container_of(lists[i]->next,
								struct adv_rs_mapped, link));
	}
}

static bool can_send_mapping(struct adv_rsocket *rs)
{
	const struct adv_rs_sending *send = &rs->s.send;

	return !rs->s.writable || (adv_rs_stream_can_write(rs) && send->seq != send->seq_limit);
}

/* Writes the mapping to its entry of the peer's table, by way of the send memory. Lock held. */
static int send_mapping(struct adv_rsocket *rs, const struct adv_rs_mapped *mapped)
{
	struct adv_rs_sending *send = &rs->s.send;
	uint32_t msg = adv_rs_msg(ADV_RS_OP_IOMAP_SGL, (uint32_t)mapped->index);
	struct adv_rs_mapping entry = {
		.offset = mapped->offset,
		.sge = {(uintptr_t)mapped->mr->addr, mapped->mr->rkey,
			(uint32_t)mapped->mr->length},
	};
	uint32_t skipped = send->size - send->at < sizeof(entry) ? send->size - send->at : 0;
	uint32_t at = (send->at + skipped) % send->size;
	struct ibv_sge sge = {(uintptr_t)send->ring.p + at, sizeof(entry), send->ring.mr->lkey};
	struct ibv_send_wr wr = {
		.wr_id = adv_rs_msg(ADV_RS_OP_DATA, skipped + (uint32_t)sizeof(entry)),
		.sg_list = &sge,
		.num_sge = 1,
	};

	if (rs->s.swap)
		adv_rs_swap_mapping(&entry);
	memcpy(send->ring.p + at, &entry, sizeof(entry));
	wr.wr.rdma.remote_addr = rs->s.peer_table.addr + (uint32_t)mapped->index * sizeof(entry);
	wr.wr.rdma.rkey = rs->s.peer_table.key;
	send->at = (at + (uint32_t)sizeof(entry)) % send->size;
	send->space -= skipped + (uint32_t)sizeof(entry);
	send->seq++;
	send->requests_out++;
	return adv_rs_message_post(rs, msg, &wr);
}

int adv_rs_mappings_send(struct adv_rsocket *rs, int64_t deadline)
{
	struct adv_list *list = &rs->s.mapped_unsent;

	while (!adv_list_empty(list)) {
		struct adv_rs_mapped *mapped;
		int err;

		if (adv_rs_wait(rs, can_send_mapping, deadline))
			return -1;
		if (!rs->s.writable)
			return adv_rs_error(ECONNRESET);
		if (adv_list_empty(list))
			break; /* another thread removed the mapping during the wait */
		mapped = adv_container_of(list->next, struct adv_rs_mapped, link);
		err = send_mapping(rs, mapped);
		if (err) {
			adv_rs_stream_break(rs, err);
			return adv_rs_error(err);
		}
		adv_list_del(&mapped->link);
		adv_list_add_tail(&rs->s.mapped, &mapped->link);
	}
	return 0;
}

bool adv_rs_mapping_find(const struct adv_rsocket *rs, uint64_t offset, struct adv_rs_sge *where)
{
	const struct adv_rs_exposed *exposed = (const void *)rs->s.exposed.p;

	for (uint32_t i = 0; i < rs->options.mappings; i++) {
		/* The peer can write the entry at any time: so this code checks and uses one copy
		 * of the entry. */
		struct adv_rs_mapping entry = exposed->mappings[i];

		if (offset >= entry.offset && offset - entry.offset < entry.sge.length) {
			uint32_t into = (uint32_t)(offset - entry.offset);

			*where = (struct adv_rs_sge){entry.sge.addr + into, entry.sge.key,
						     entry.sge.length - into};
			return true;
		}
	}
	return false;
}
