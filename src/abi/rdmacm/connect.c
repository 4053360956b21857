/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Connecting, accepting, rejecting, disconnecting. */
#include <errno.h>
#include <string.h>

#include "base/reason.h"
#include "abi/rdmacm/ack.h"
#include "abi/rdmacm/establish.h"
#include "abi/rdmacm/event.h"
#include "base/export.h"
#include "abi/rdmacm/id_state.h"
#include "abi/rdmacm/qp.h"
#include "abi/rdmacm/watch.h"
#include "nic/wire/cm_message_ip.h"

#define MOST_RETRIES		     7	/* a field of three bits */
#define REASON_CONSUMER		     28 /* IBTA 12.6.7.2: the consumer's rejection */
#define REASON_VENDOR_OPTION_REFUSED 35

static uint8_t at_most(uint8_t value, uint8_t limit)
{
	return value < limit ? value : limit;
}

/* EINVAL if the device does not support the values, or if the QP is not known. */
static int check_param(const struct adv_rdma_id *id, const struct rdma_conn_param *param)
{
	if (!id->device)
		return adv_reason(EINVAL, "the id has no device yet: resolve the address first, "
					  "and wait for RDMA_CM_EVENT_ADDR_RESOLVED");
	if (!id->id.qp && !param)
		return adv_reason(EINVAL, "the id has no queue pair, and conn_param is NULL: call "
					  "rdma_create_qp(), or set conn_param->qp_num");
	if (id->id.ps != RDMA_PS_TCP || !param)
		return 0;
	if (param->responder_resources != RDMA_MAX_RESP_RES &&
	    param->responder_resources > id->device->max_responder_resources)
		return adv_reason(EINVAL, "responder_resources %u is above %u (max_qp_rd_atom)",
				  param->responder_resources, id->device->max_responder_resources);
	if (param->initiator_depth != RDMA_MAX_INIT_DEPTH &&
	    param->initiator_depth > id->device->max_initiator_depth)
		return adv_reason(EINVAL, "initiator_depth %u is above %u (max_qp_init_rd_atom)",
				  param->initiator_depth, id->device->max_initiator_depth);
	return 0;
}

/* Fills in the parameters of connect and accept. EINVAL: too much private data. */
static int fill_conn(struct adv_rdma_id *id, struct adv_ucma_conn *conn,
		     const struct rdma_conn_param *param)
{
	size_t given = param && param->private_data ? param->private_data_len : 0;

	if (id->connect_len + given > sizeof(conn->private_data))
		return adv_reason(EINVAL,
				  "private_data_len %zu (with the address info's) is above %zu",
				  id->connect_len + given, sizeof(conn->private_data));
	if (id->connect_len)
		memcpy(conn->private_data, id->connect_data, id->connect_len);
	if (given)
		memcpy(conn->private_data + id->connect_len, param->private_data, given);
	conn->private_data_len = (uint8_t)(id->connect_len + given);
	conn->qp_type = (uint8_t)(id->id.qp ? id->id.qp->qp_type : id->id.qp_type);
	conn->qp_num = id->qp_num = id->id.qp ? id->id.qp->qp_num : param->qp_num;
	conn->srq = id->id.qp ? id->id.qp->srq != NULL : param->srq;
	conn->responder_resources = id->responder_resources;
	conn->initiator_depth = id->initiator_depth;
	conn->flow_control = param ? param->flow_control : 0;
	conn->retry_count = param ? at_most(param->retry_count, MOST_RETRIES) : MOST_RETRIES;
	conn->rnr_retry_count =
		param ? at_most(param->rnr_retry_count, MOST_RETRIES) : MOST_RETRIES;
	return 0;
}

/* True if an id's queue pair is connected by messages of InfiniBand's connection manager. */
static bool is_roce(const struct adv_rdma_id *id)
{
	return id->id.verbs->device->transport_type == IBV_TRANSPORT_IB;
}

/* Returns err. If adverbd has refused private data that its message has no room for, keeps that as
 * the reason. len: their bytes; for_tcp, for_udp: the room by the port space. */
static int explain_private_data(int err, const struct adv_rdma_id *id, size_t len, size_t for_tcp,
				size_t for_udp)
{
	const size_t room = id->id.ps == RDMA_PS_TCP ? for_tcp : for_udp;

	if (err != EINVAL || len <= room || !is_roce(id))
		return err;
	return adv_reason(EINVAL,
			  "private_data_len %zu is above %zu, the room of this message: send the "
			  "rest when the connection is established",
			  len, room);
}

/* Sends the daemon the request. Call it with adv_rdma_qp_lock() held. */
static int send_connect(struct adv_rdma_id *id, const struct rdma_conn_param *param)
{
	struct adv_ucma_message m;
	int err = check_param(id, param);

	if (err)
		return err;
	id->initiator_depth = param && param->initiator_depth != RDMA_MAX_INIT_DEPTH
				      ? param->initiator_depth
				      : id->device->max_initiator_depth;
	id->responder_resources = param && param->responder_resources != RDMA_MAX_RESP_RES
					  ? param->responder_resources
					  : id->device->max_responder_resources;
	adv_rdma_request(&m, ADV_UCMA_CMD_CONNECT, id->handle);
	err = fill_conn(id, &m.body.conn, param);
	if (err)
		return err;
	m.body.conn.ece_vendor_id = id->local_ece.vendor_id;
	m.body.conn.ece_options = id->local_ece.options;
	id->connecting = true;
	id->connects_qp = id->id.qp != NULL;
	return explain_private_data(adv_rdma_id_ask(id, &m), id, m.body.conn.private_data_len,
				    ADV_CM_REQ_PRIVATE, ADV_CM_SIDR_REQ_PRIVATE);
}

ADV_EXPORT int rdma_connect(struct rdma_cm_id *cm_id, struct rdma_conn_param *param)
{
	struct adv_rdma_id *id = adv_rdma_id_of(cm_id);
	bool sync;
	int err;

	if (!cm_id)
		return adv_rdma_result(EINVAL, __func__, cm_id);
	if (adv_rdma_observer)
		adv_rdma_observer->cm_connecting(cm_id, param, false);
	adv_rdma_qp_lock(id);
	err = send_connect(id, param);
	sync = id->sync;
	adv_rdma_qp_unlock(id);
	/* If it is not synchronous, another thread may have handled the event and destroyed the id.
	 */
	return adv_rdma_result(err || !sync ? err : adv_rdma_complete(id), __func__, cm_id);
}

static bool has_request(struct adv_rdma_id *id)
{
	bool has;

	adv_rdma_lock(id->connection);
	has = id->unaccepted;
	adv_rdma_unlock(id->connection);
	return has;
}

/* Makes the QP receive and send, before the caller sends the peer its acceptance. */
static int make_ready(struct adv_rdma_id *id)
{
	int err = adv_rdma_qp_to_rtr(id, id->responder_resources);

	if (!err)
		err = adv_rdma_qp_to_rts(id, id->initiator_depth);
	return err && !has_request(id) ? adv_rdma_explain(err, ADV_UCMA_CMD_ACCEPT) : err;
}

/* Sends the daemon the acceptance. From then on the id has events. */
static int send_accept(struct adv_rdma_id *id, struct adv_ucma_message *m)
{
	int err, fd = -1;
	bool before;

	adv_rdma_lock(id->connection);
	before = id->unaccepted;
	id->unaccepted = false;
	err = id->ended ? ENODEV : adv_rdma_ask(id->connection, m, &fd);
	if (err)
		id->unaccepted = before;
	adv_rdma_unlock(id->connection);
	return err ? err : adv_rdma_attach(id, m, fd);
}

/* Accepts the id's request. Call it with adv_rdma_qp_lock() held. */
static int accept_request(struct adv_rdma_id *id, const struct rdma_conn_param *param)
{
	struct adv_ucma_message m;
	int err = check_param(id, param);
	size_t len;

	if (err)
		return err;
	id->initiator_depth =
		param && param->initiator_depth != RDMA_MAX_INIT_DEPTH
			? param->initiator_depth
			: at_most(id->initiator_depth, id->device->max_initiator_depth);
	id->responder_resources =
		param && param->responder_resources != RDMA_MAX_RESP_RES
			? param->responder_resources
			: at_most(id->responder_resources, id->device->max_responder_resources);
	adv_rdma_request(&m, ADV_UCMA_CMD_ACCEPT, id->handle);
	err = fill_conn(id, &m.body.conn, param);
	if (!err && !adv_rdma_is_ud(&id->id))
		err = make_ready(id);
	if (err)
		return err;
	m.body.conn.ece_vendor_id = id->remote_ece.vendor_id;
	m.body.conn.ece_options = id->local_ece.options;
	id->connecting = true;
	len = m.body.conn.private_data_len;
	err = explain_private_data(send_accept(id, &m), id, len, ADV_CM_REP_PRIVATE,
				   ADV_CM_SIDR_REP_PRIVATE);
	if (err)
		adv_rdma_qp_to_error(id);
	return err;
}

ADV_EXPORT int rdma_accept(struct rdma_cm_id *cm_id, struct rdma_conn_param *param)
{
	struct adv_rdma_id *id = adv_rdma_id_of(cm_id);
	bool is_ud, sync;
	int err;

	if (!cm_id)
		return adv_rdma_result(EINVAL, __func__, cm_id);
	if (adv_rdma_observer)
		adv_rdma_observer->cm_connecting(cm_id, param, true);
	adv_rdma_qp_lock(id);
	err = accept_request(id, param);
	is_ud = adv_rdma_is_ud(cm_id);
	sync = id->sync;
	adv_rdma_qp_unlock(id);
	if (err || !sync) /* another thread may have handled the event and destroyed the id */
		return adv_rdma_result(err, __func__, cm_id);
	if (!is_ud)
		return adv_rdma_result(adv_rdma_complete(id), __func__, cm_id);
	adv_rdma_drop_event(id);
	return 0;
}

static int send_reject(struct rdma_cm_id *cm_id, const void *private_data, uint8_t len,
		       uint8_t reason, const char *function)
{
	struct adv_ucma_message m;

	if (!cm_id)
		return adv_rdma_result(EINVAL, function, cm_id);
	adv_rdma_request(&m, ADV_UCMA_CMD_REJECT, adv_rdma_id_of(cm_id)->handle);
	m.body.conn.reason = reason;
	if (private_data) {
		memcpy(m.body.conn.private_data, private_data, len);
		m.body.conn.private_data_len = len;
	}
	return adv_rdma_result(adv_rdma_id_ask(adv_rdma_id_of(cm_id), &m), function, cm_id);
}

ADV_EXPORT int rdma_reject(struct rdma_cm_id *id, const void *private_data,
			   uint8_t private_data_len)
{
	return send_reject(id, private_data, private_data_len, REASON_CONSUMER, __func__);
}

ADV_EXPORT int rdma_reject_ece(struct rdma_cm_id *id, const void *private_data,
			       uint8_t private_data_len)
{
	return send_reject(id, private_data, private_data_len, REASON_VENDOR_OPTION_REFUSED,
			   __func__);
}

ADV_EXPORT int rdma_establish(struct rdma_cm_id *cm_id)
{
	struct adv_rdma_id *id = adv_rdma_id_of(cm_id);
	int err;

	if (!cm_id || cm_id->qp)
		return adv_rdma_result(
			adv_reason(EINVAL, "rdma_establish() is for ids without a queue pair: with "
					   "one, the event CONNECT_RESPONSE does not occur"),
			__func__, cm_id);
	adv_rdma_qp_lock(id);
	err = adv_rdma_establish(id);
	adv_rdma_lock(id->connection);
	id->connected |= err == 0;
	adv_rdma_unlock(id->connection);
	adv_rdma_qp_unlock(id);
	return adv_rdma_result(err, __func__, cm_id);
}

ADV_EXPORT int rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event)
{
	int err;

	if (!id || event != IBV_EVENT_COMM_EST)
		return adv_rdma_result(
			adv_reason(EINVAL, "event %d: only IBV_EVENT_COMM_EST can be notified",
				   (int)event),
			__func__, id);
	adv_rdma_qp_lock(adv_rdma_id_of(id));
	err = adv_rdma_establish(adv_rdma_id_of(id));
	adv_rdma_qp_unlock(adv_rdma_id_of(id));
	return adv_rdma_result(err, __func__, id);
}

/* Ends the connection. *waits: an event will report its end, and the id is synchronous. */
static int end_connection(struct adv_rdma_id *id, bool *waits)
{
	struct adv_ucma_message m;
	int err;

	*waits = false;
	err = adv_rdma_qp_to_error(id);
	if (err)
		return err;
	adv_rdma_request(&m, ADV_UCMA_CMD_DISCONNECT, id->handle);
	err = adv_rdma_id_ask(id, &m);
	/* The peer disconnected first, or there was no connection: nothing is left to do. */
	if (err == EINVAL && id->connecting)
		err = 0;
	adv_rdma_lock(id->connection);
	*waits = id->sync && id->connected && !id->disconnected;
	adv_rdma_unlock(id->connection);
	return err;
}

ADV_EXPORT int rdma_disconnect(struct rdma_cm_id *cm_id)
{
	struct adv_rdma_id *id = adv_rdma_id_of(cm_id);
	bool waits;
	int err;

	if (!cm_id || !cm_id->verbs)
		return adv_rdma_result(
			adv_reason(EINVAL,
				   "the id was never connected: there is nothing to disconnect"),
			__func__, cm_id);
	adv_rdma_qp_lock(id);
	err = end_connection(id, &waits);
	adv_rdma_qp_unlock(id);
	if (!err && waits)
		err = adv_rdma_complete(id);
	return adv_rdma_result(err, __func__, cm_id);
}

/* For QPs that were not made by librdmacm: rdma_set_local_ece(3). */
ADV_EXPORT int rdma_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	if (!id || id->qp || !ece || !ece->vendor_id || ece->comp_mask)
		return adv_rdma_result(EINVAL, __func__, id);
	adv_rdma_id_of(id)->local_ece = *ece;
	return 0;
}

ADV_EXPORT int rdma_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	if (!id || id->qp || !ece)
		return adv_rdma_result(EINVAL, __func__, id);
	*ece = (struct ibv_ece){
		.vendor_id = adv_rdma_id_of(id)->remote_ece.vendor_id,
		.options = adv_rdma_id_of(id)->remote_ece.options,
	};
	return 0;
}
