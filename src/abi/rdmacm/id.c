/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/reason.h"
#include "abi/rdmacm/id.h"

#include <errno.h>
#include <stdlib.h>

#include "abi/rdmacm/ack.h"
#include "abi/rdmacm/channel.h"
#include "base/export.h"
#include "runtime/identity/identity.h"
#include "runtime/identity/iwarp_options.h"
#include "runtime/identity/roce.h"
#include "abi/rdmacm/watch.h"

static struct adv_rdma_id *alloc_id(struct adv_rdma_channel *ch, void *context,
				    enum rdma_port_space ps, enum ibv_qp_type qp_type)
{
	struct adv_rdma_id *id = calloc(1, sizeof(*id));

	if (!id)
		return NULL;
	id->id.channel = &ch->channel;
	id->id.context = context;
	id->id.ps = ps;
	id->id.qp_type = qp_type;
	id->connection = ch->connection;
	id->channel = ch;
	pthread_mutex_init(&id->qp_lock, NULL);
	pthread_cond_init(&id->acked, NULL);
	adv_list_init(&id->by_handle);
	adv_list_init(&id->of_channel);
	adv_list_init(&id->memberships);
	return id;
}

/* Adds the id to the lists in which events find it. Call it with the lock held. */
static void insert_id(struct adv_rdma_id *id, uint32_t handle)
{
	adv_rdma_id_enter(id, handle);
	adv_list_add(&id->channel->ids, &id->of_channel);
	adv_rdma_channel_hold(id->channel);
}

static void free_id(struct adv_rdma_id *id)
{
	while (!adv_list_empty(&id->memberships)) {
		struct adv_rdma_membership *m =
			adv_container_of(id->memberships.next, struct adv_rdma_membership, link);

		adv_list_del(&m->link);
		free(m);
	}
	pthread_cond_destroy(&id->acked);
	pthread_mutex_destroy(&id->qp_lock);
	rdma_freeaddrinfo(id->resolved);
	free(id->id.route.path_rec);
	free(id->passive_qp);
	free(id->connect_data);
	free(id);
}

int adv_rdma_id_create(struct rdma_event_channel *channel, struct rdma_cm_id **out, void *context,
		       enum rdma_port_space ps, enum ibv_qp_type qp_type)
{
	struct rdma_event_channel *own = channel ? NULL : rdma_create_event_channel();
	struct adv_rdma_channel *ch = adv_rdma_channel_of(channel ? channel : own);
	struct adv_rdma_id *id;
	struct adv_ucma_message m;
	int err = ENOMEM;

	if (!ch)
		return errno;
	id = alloc_id(ch, context, ps, qp_type);
	if (!id)
		goto destroy_channel;
	id->sync = own != NULL;
	adv_rdma_request(&m, ADV_UCMA_CMD_CREATE_ID, 0);
	m.channel = ch->handle;
	m.body.create.port_space = ps;
	m.body.create.qp_type = qp_type;
	m.body.create.iwarp = adv_transport() == ADV_TRANSPORT_IWARP;
	m.body.create.roce = adv_roce();
	m.body.create.crc = adv_iwarp_options()->crc;
	m.body.create.markers = adv_iwarp_options()->markers;
	adv_rdma_lock(ch->connection);
	err = adv_rdma_ask(ch->connection, &m, NULL);
	if (!err)
		insert_id(id, m.id);
	adv_rdma_unlock(ch->connection);
	if (!err) {
		*out = &id->id;
		return 0;
	}
	free_id(id);
destroy_channel:
	if (own)
		rdma_destroy_event_channel(own);
	return err;
}

ADV_EXPORT int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id,
			      void *context, enum rdma_port_space ps)
{
	bool datagram = ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB;
	int err;

	if (!id || (!datagram && ps != RDMA_PS_TCP && ps != RDMA_PS_IB))
		return adv_rdma_result(
			adv_reason(EINVAL,
				   "port space 0x%x: RDMA_PS_TCP, _UDP, _IPOIB and _IB exist", ps),
			__func__, channel);
	err = adv_rdma_id_create(channel, id, context, ps, datagram ? IBV_QPT_UD : IBV_QPT_RC);
	if (!err)
		adv_rdma_watch_created(*id, __builtin_return_address(0));
	return adv_rdma_result(err, __func__, channel);
}

/* Makes the library's id of a request. The daemon has already made its own. */
struct adv_rdma_id *adv_rdma_id_of_request(struct adv_rdma_id *listen, uint32_t handle,
					   enum ibv_qp_type qp_type)
{
	struct adv_rdma_id *id =
		alloc_id(listen->channel, listen->id.context, listen->id.ps, qp_type);
	struct adv_ucma_message m;

	if (!id) {
		adv_rdma_request(&m, ADV_UCMA_CMD_DESTROY_ID, handle);
		adv_rdma_ask(listen->connection, &m, NULL);
		return NULL;
	}
	id->unaccepted = true;
	insert_id(id, handle);
	return id;
}

static void unlock_connection(void *connection)
{
	adv_rdma_unlock(connection);
}

void adv_rdma_id_wait(struct adv_rdma_id *id, const unsigned *completed, const unsigned *reported)
{
	/* In a child of fork() the parent's other threads, which hold events, do not exist. */
	pthread_cleanup_push(unlock_connection, id->connection);
	while (*completed < *reported && !id->connection->foreign)
		pthread_cond_wait(&id->acked, &id->connection->lock);
	pthread_cleanup_pop(0);
}

ADV_EXPORT int rdma_destroy_id(struct rdma_cm_id *cm_id)
{
	struct adv_rdma_id *id = adv_rdma_id_of(cm_id);
	struct adv_rdma_channel *ch;
	void *watch;

	if (!cm_id)
		return adv_rdma_result(EINVAL, __func__, cm_id);
	adv_rdma_lock(id->connection);
	adv_rdma_id_end(id);
	adv_rdma_unlock(id->connection);
	adv_rdma_drop_event(id);
	watch = adv_rdma_watch_destroying(cm_id);
	adv_rdma_lock(id->connection);
	adv_rdma_id_wait(id, &id->completed, &id->reported);
	adv_list_del(&id->of_channel);
	ch = id->channel;
	adv_rdma_unlock(id->connection);
	/* A thread whose call caused the id's last event may not have left the call. */
	adv_rdma_qp_lock(id);
	adv_rdma_qp_unlock(id);
	if (id->sync)
		rdma_destroy_event_channel(&ch->channel);
	adv_rdma_channel_release(ch);
	free_id(id);
	adv_rdma_watch_destroyed(watch);
	return 0;
}

/* Moves the id to another channel. The daemon's answer and the change of the lists are under one
 * lock, so that no event is lost between them. */
static int change_channel(struct adv_rdma_id *id, struct adv_rdma_channel *to, bool sync)
{
	struct adv_ucma_message m;
	int err;

	adv_rdma_request(&m, ADV_UCMA_CMD_MIGRATE, id->handle);
	m.channel = to->handle;
	adv_rdma_lock(id->connection);
	if (to->connection != id->connection || id->ended)
		err = ENODEV;
	else
		err = adv_rdma_ask(id->connection, &m, NULL);
	if (!err) {
		adv_list_del(&id->of_channel);
		adv_list_add(&to->ids, &id->of_channel);
		adv_rdma_channel_hold(to);
		id->channel = to;
		id->id.channel = &to->channel;
		id->sync = sync;
	}
	adv_rdma_unlock(id->connection);
	return err;
}

int adv_rdma_id_migrate(struct adv_rdma_id *id, struct rdma_event_channel *channel)
{
	struct rdma_event_channel *own = channel ? NULL : rdma_create_event_channel();
	struct adv_rdma_channel *to = adv_rdma_channel_of(channel ? channel : own);
	struct adv_rdma_channel *from = id->channel;
	bool was_sync = id->sync;
	int err;

	if (!to)
		return errno;
	err = change_channel(id, to, own != NULL);
	if (err) {
		if (own)
			rdma_destroy_event_channel(own);
		return err;
	}
	if (was_sync) {
		adv_rdma_drop_event(id);
		rdma_destroy_event_channel(&from->channel);
	}
	adv_rdma_channel_release(from);
	adv_rdma_lock(id->connection);
	adv_rdma_id_wait(id, &id->completed, &id->reported);
	adv_rdma_unlock(id->connection);
	return 0;
}

ADV_EXPORT int rdma_migrate_id(struct rdma_cm_id *cm_id, struct rdma_event_channel *channel)
{
	struct adv_rdma_id *id = adv_rdma_id_of(cm_id);

	if (!cm_id || (id->sync && !channel))
		return adv_rdma_result(
			adv_reason(EINVAL, "the id is synchronous already: it has no channel"),
			__func__, cm_id);
	return adv_rdma_result(adv_rdma_id_migrate(id, channel), __func__, cm_id);
}
