/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes and ends connections by the connection manager (src/nic/cm). Its messages use the same
 * links as the data. Side 0 connects, side 1 listens. The private data of a request has the
 * connection and the attempt. They show whether a request is received twice or by the wrong
 * listener.
 */
#include <endian.h>

#include "nic/cm/invariants.h"
#include "nic/cm/state.h"
#include "sim.h"
#include "nic/wire/mad.h"

#define PORT_RC	 7471
#define PORT_UC	 7472
#define TRIES	 8
#define PATIENCE (TRIES * 72 * SEC) /* after an MRA, the wait for each answer is 69 s */
#define SAYS_NO	 28

/* The private data of REQ and REP. */
struct token {
	uint32_t connection;
	uint32_t attempt;
	uint32_t qpn;
};

static uint32_t bit(enum rdma_cm_event_type type)
{
	return UINT32_C(1) << type;
}

/* ---- hosts ---- */

static struct adv_cm_id *listen_on(struct host *h, enum ibv_qp_type type, uint16_t port)
{
	struct adv_cm_addr addr = {.family = AF_INET6, .port = port};
	struct adv_cm_id *id = adv_cm_id_create(h->cm, RDMA_PS_TCP, type, NULL);

	REQUIRE(h->sim, id && adv_cm_bind(id, &addr, 0) == 0 && adv_cm_listen(id, 0) == 0,
		"host %u: cannot listen", h->index);
	return id;
}

void manager_open(struct host *h)
{
	struct sim *s = h->sim;
	struct adv_cm_config config = {.seed = adv_rng_next(&s->rng[MANAGER]),
				       .node_guid = htobe64(h->index + 1),
				       .retry_first_ns = 5 * MS,
				       .retry_longest_ns = 80 * MS,
				       .max_tries = TRIES,
				       .timewait_ns = 2 * MS};

	if (!s->managed)
		return;
	h->cm = adv_cm_create(&config);
	REQUIRE(s, h->cm, "no connection manager");
	h->listener[0] = listen_on(h, IBV_QPT_RC, PORT_RC);
	h->listener[1] = listen_on(h, IBV_QPT_UC, PORT_UC);
}

/* Ends the manager of a host that crashes. Its peers receive no message. */
void manager_crash(struct host *h)
{
	struct sim *s = h->sim;

	if (!h->cm)
		return;
	adv_cm_destroy(h->cm);
	h->cm = NULL;
	for (unsigned i = 0; i < s->connection_count; i++)
		for (unsigned k = 0; k < 2; k++)
			if (s->connection[i].host[k] == h) {
				s->connection[i].agent[k].id = NULL;
				s->connection[i].agent[k].heard = false;
			}
}

/* Checks, after all connections have ended, that the manager has no state of them. */
void manager_close(struct host *h)
{
	struct adv_cm *cm = h->cm;

	if (!cm)
		return;
	for (unsigned i = 0; i < 2; i++)
		adv_cm_id_destroy(h->listener[i], h->sim->now);
	REQUIRE(h->sim,
		adv_cm_id_count(cm) == 0 && adv_cm_ending_count(cm) == 0 &&
			cm->by_comm_id.count == 0 && cm->by_remote.count == 0 &&
			cm->by_qpn.count == 0 && cm->ports.count == 0 && cm->hosts.count == 0 &&
			cm->timers.count == 0 && cm->timers.reserved == 0 &&
			adv_list_empty(&cm->events) && adv_list_empty(&cm->outgoing),
		"host %u: state is left in the connection manager", h->index);
	adv_cm_destroy(cm);
	h->cm = NULL;
}

bool manager_is_quiet(const struct host *h)
{
	return !h->cm || adv_cm_ending_count(h->cm) == 0;
}

/* ---- messages ---- */

static void send_mad(struct host *h, const struct adv_cm_mad *mad)
{
	struct adv_headers headers = {.bth = {.opcode = ADV_SERVICE_UD | ADV_OP_SEND_ONLY,
					      .pkey = ADV_PKEY_DEFAULT,
					      .dest_qpn = mad->dest_qpn},
				      .deth = {.qkey = ADV_GSI_QKEY, .src_qpn = ADV_GSI_QPN}};
	uint8_t data[ADV_HEADERS_MAX + ADV_CM_MAD_LEN];
	size_t n = adv_headers_encode(&headers, data);

	REQUIRE(h->sim,
		mad->dest_qpn == ADV_GSI_QPN && (adv_gid_equal(&mad->path.sgid, &h->gid[0]) ||
						 adv_gid_equal(&mad->path.sgid, &h->gid[1])),
		"host %u: a message from or to elsewhere", h->index);
	memcpy(data + n, mad->data, ADV_CM_MAD_LEN);
	network_send(h, &mad->path, data, (uint32_t)n + ADV_CM_MAD_LEN);
	h->sim->total.mads++;
}

void manager_rx(struct host *h, const struct adv_rx_meta *meta, const uint8_t *data, uint32_t len)
{
	struct adv_headers headers;
	size_t n = adv_headers_decode(data, len, &headers);

	if (h->cm)
		adv_cm_rx(h->cm, h->sim->now, meta, data + n, len - n);
}

uint64_t manager_deadline(const struct host *h)
{
	return h->cm ? adv_cm_deadline(h->cm) : ADV_NEVER;
}

void manager_expire(struct host *h)
{
	const char *broken;

	if (!h->cm)
		return;
	if (adv_cm_deadline(h->cm) <= h->sim->now)
		adv_cm_expire(h->cm, h->sim->now);
	broken = adv_cm_check(h->cm);
	if (broken)
		violation(h->sim, "%s", broken);
}

/* ---- connecting ---- */

static struct adv_cm_conn_param param_of(const struct connection *c, unsigned side)
{
	struct adv_cm_conn_param param = {.qp_num = c->end[side].qpn,
					  .qp_type = c->type,
					  .responder_resources = c->depth[!side],
					  .initiator_depth = c->depth[side],
					  .retry_count = c->retry_cnt,
					  .rnr_retry_count = c->rnr_retry,
					  .private_data_len = sizeof(struct token)};
	struct token token = {c->index, c->attempt, c->end[side].qpn};

	memcpy(param.private_data, &token, sizeof(token));
	return param;
}

static struct adv_cm_addr address_of(const struct host *h, bool ipv4, uint16_t port)
{
	return (struct adv_cm_addr){
		.family = ipv4 ? AF_INET : AF_INET6, .port = port, .ip = h->gid[ipv4]};
}

/* Starts to connect at side 0. Both QPs must be in INIT. */
void manager_connect(struct connection *c)
{
	struct sim *s = c->sim;
	struct adv_cm_addr local = address_of(c->host[0], c->ipv4, 0);
	struct adv_cm_addr remote =
		address_of(c->host[1], c->ipv4, c->type == IBV_QPT_UC ? PORT_UC : PORT_RC);
	struct adv_cm_route route = {.path = {.sgid = c->host[0]->gid[c->ipv4],
					      .dgid = c->host[1]->gid[c->ipv4],
					      .sgid_index = c->ipv4,
					      .hop_limit = 64},
				     .mtu = c->mtu,
				     .packet_life_time = 14};
	struct adv_cm_conn_param param;
	struct adv_cm_id *id;

	c->attempt++;
	for (unsigned i = 0; i < 2; i++)
		c->agent[i] = (struct agent){.c = c, .side = i};
	c->attempt_at = s->now;
	c->harmed_then = s->harmed_mads;
	c->crashes_then = s->total.crashes;
	c->refused = c->given_up = false;
	c->state = CONNECTING;
	id = adv_cm_id_create(c->host[0]->cm, RDMA_PS_TCP, c->type, &c->agent[0]);
	param = param_of(c, 0);
	REQUIRE(s,
		id && adv_cm_set_peer(id, &local, &remote) == 0 &&
			adv_cm_set_route(id, &route) == 0 &&
			adv_cm_set_ack_timeout(id, c->timeout) == 0 &&
			adv_cm_connect(id, s->now, &param) == 0,
		"connection %u: cannot ask", c->index);
	c->agent[0].id = id;
}

static void move(struct end *end, enum ibv_qp_state state)
{
	struct connection *c = end->c;
	struct sim *s = c->sim;
	const struct end *peer = peer_of(end);
	bool rc = c->type == IBV_QPT_RC;
	struct ibv_qp_attr a;
	int mask, err = adv_cm_qp_attr(c->agent[end->side].id, state, &a, &mask);

	REQUIRE(s, err == 0, "connection %u: no attributes for state %d: %d", c->index, (int)state,
		err);
	if (state == IBV_QPS_RTR)
		REQUIRE(s,
			a.dest_qp_num == peer->qpn && a.path_mtu == c->mtu &&
				(!rc || a.max_dest_rd_atomic == c->depth[peer->side]) &&
				memcmp(a.ah_attr.grh.dgid.raw, peer->host->gid[c->ipv4].raw, 16) ==
					0,
			"connection %u: QP %06x, MTU %d, depth %u are said of the peer", c->index,
			a.dest_qp_num, (int)a.path_mtu, a.max_dest_rd_atomic);
	else
		REQUIRE(s,
			!rc || (a.timeout == c->timeout && a.retry_cnt == c->retry_cnt &&
				a.rnr_retry == c->rnr_retry &&
				a.max_rd_atomic == c->depth[end->side]),
			"connection %u: timeout %u, retries %u and %u, depth %u", c->index,
			a.timeout, a.retry_cnt, a.rnr_retry, a.max_rd_atomic);
	a.min_rnr_timer = c->min_rnr_timer;
	err = adv_qp_modify(end->qp, s->now, &a, mask);
	REQUIRE(s, err == 0, "connection %u: to state %d: %d", c->index, (int)state, err);
	c->psn[end->side] = a.sq_psn;
}

static bool is_token_of(const struct connection *c, unsigned side,
			const struct adv_cm_conn_param *param)
{
	struct token token;

	memcpy(&token, param->private_data, sizeof(token));
	return token.connection == c->index && token.attempt == c->attempt &&
	       token.qpn == c->end[side].qpn && param->qp_num == token.qpn;
}

static void on_request(struct host *h, const struct adv_cm_event *event)
{
	struct sim *s = h->sim;
	struct connection *c;
	struct agent *agent;
	struct token token;

	memcpy(&token, event->param.private_data, sizeof(token));
	REQUIRE(s, token.connection < s->connection_count,
		"host %u: a request that nobody made was heard", h->index);
	c = &s->connection[token.connection];
	agent = &c->agent[1];
	REQUIRE(s, c->host[1] == h, "host %u: has heard a request for another one", h->index);
	adv_cm_request_taken(event->id);
	/* The request is of an earlier attempt, or its QP does not exist any more. */
	if (token.attempt != c->attempt || c->state != CONNECTING || !c->end[1].qp ||
	    c->end[1].purged) {
		c->refused = c->refused || token.attempt == c->attempt;
		adv_cm_id_destroy(event->id, s->now);
		return;
	}
	if (agent->heard && agent->over) {
		/* The request is repeated after a refusal, because the REJ was lost. */
		adv_cm_id_destroy(event->id, s->now);
		return;
	}
	REQUIRE(s, !agent->heard, "connection %u: a request was heard twice", c->index);
	REQUIRE(s,
		is_token_of(c, 0, &event->param) && event->param.qp_type == c->type &&
			(c->type == IBV_QPT_UC ||
			 (event->param.responder_resources == c->depth[0] &&
			  event->param.initiator_depth == c->depth[1])),
		"connection %u: the request has changed on its way", c->index);
	agent->heard = true;
	agent->id = event->id;
	agent->decide_at = s->now + (chance(s, MANAGER, 700) ? 0 : below(s, MANAGER, 300 * MS));
	adv_cm_id_set_user(event->id, agent);
}

/* Answers a request at the listening side, after the drawn delay. */
static void decide(struct connection *c)
{
	struct sim *s = c->sim;
	struct adv_cm_id *id = c->agent[1].id;
	struct adv_cm_conn_param param = param_of(c, 1);
	struct adv_cm_route route = {.path = {.sgid_index = c->ipv4, .hop_limit = 64}};
	int err;

	c->agent[1].decide_at = 0;
	if (chance(s, MANAGER, 50)) {
		err = adv_cm_reject(id, s->now, SAYS_NO, "no", 3);
		c->refused = c->agent[1].over = true;
	} else {
		REQUIRE(s,
			adv_cm_set_route(id, &route) == 0 &&
				adv_cm_set_ack_timeout(id, c->timeout) == 0,
			"connection %u: no route back", c->index);
		err = adv_cm_accept(id, s->now, &param);
		if (err == 0) {
			move(&c->end[1], IBV_QPS_RTR);
			move(&c->end[1], IBV_QPS_RTS);
		}
	}
	REQUIRE(s, err == 0 || c->agent[1].over, "connection %u: cannot answer: %d", c->index, err);
}

static void on_response(struct connection *c, const struct adv_cm_event *event)
{
	struct sim *s = c->sim;

	REQUIRE(s,
		!c->refused && is_token_of(c, 1, &event->param) &&
			(c->type == IBV_QPT_UC ||
			 (event->param.responder_resources == c->depth[1] &&
			  event->param.initiator_depth == c->depth[0])),
		"connection %u: an answer that was not given", c->index);
	if (c->state != CONNECTING || !c->end[0].qp || !c->end[1].qp ||
	    end_state(&c->end[1]) != IBV_QPS_RTS) {
		/* The QP was destroyed with a CQ, or the other side crashed or ended the attempt.
		 */
		c->given_up = true;
		return;
	}
	move(&c->end[0], IBV_QPS_RTR);
	move(&c->end[0], IBV_QPS_RTS);
	REQUIRE(s, adv_cm_establish(c->agent[0].id, s->now) == 0, "connection %u: no RTU",
		c->index);
	connection_begin(c, c->psn);
	s->total.managed++;
}

/* ---- events ---- */

/* Checks the order of events that cm.h promises. */
static void check_order(const struct agent *agent, const struct adv_cm_event *event)
{
	const uint32_t over = bit(RDMA_CM_EVENT_UNREACHABLE) | bit(RDMA_CM_EVENT_REJECTED) |
			      bit(RDMA_CM_EVENT_DISCONNECTED);
	bool asks = agent->side == 0, good;

	switch (event->type) {
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		good = asks && !agent->events;
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		good = !asks && !agent->events;
		break;
	case RDMA_CM_EVENT_UNREACHABLE:
		good = !agent->events;
		break;
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_DISCONNECTED:
		good = !(agent->events & over);
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		good = agent->events & over;
		break;
	default:
		good = false;
	}
	REQUIRE(agent->c->sim, good && !(agent->events & bit(event->type)),
		"connection %u side %u: event %d behind events %x", agent->c->index, agent->side,
		(int)event->type, agent->events);
}

/* Checks that a missing answer has a reason: enough lost messages, or a crashed host. */
static void judge_silence(const struct connection *c, const struct adv_cm_event *event)
{
	const struct sim *s = c->sim;
	uint64_t harmed = s->harmed_mads - c->harmed_then;

	REQUIRE(c->sim,
		event->status != -ETIMEDOUT || harmed >= TRIES ||
			s->total.crashes > c->crashes_then,
		"connection %u: no answer, with %llu messages lost", c->index,
		(unsigned long long)harmed);
}

static void on_end_of(struct agent *agent, const struct adv_cm_event *event)
{
	struct connection *c = agent->c;
	const struct agent *other = &c->agent[!agent->side];
	struct sim *s = c->sim;
	struct end *end = &c->end[agent->side];

	agent->over = true;
	agent->leave_at = s->now + below(s, MANAGER, 5 * MS);
	judge_silence(c, event);
	if (event->type == RDMA_CM_EVENT_REJECTED && agent->side == 0)
		REQUIRE(s,
			c->refused || s->total.crashes > c->crashes_then || other->left ||
				(event->status != SAYS_NO && other->over),
			"connection %u: refused for reason %d", c->index, event->status);
	if (event->type == RDMA_CM_EVENT_DISCONNECTED && event->status == 0)
		REQUIRE(s,
			agent->asked || other->asked || other->over || !other->id ||
				c->state == CONNECTING,
			"connection %u: side %u is told of an end that nobody wanted", c->index,
			agent->side);
	if (c->state == CONNECTING) {
		c->given_up = true;
	} else if (c->state == CONNECTED && end->qp && end_state(end) != IBV_QPS_ERR &&
		   end_state(end) != IBV_QPS_RESET) {
		end->app_error = true;
		end_move(end, IBV_QPS_ERR);
	}
}

static void on_event(struct host *h, const struct adv_cm_event *event)
{
	struct agent *agent;

	if (event->type == RDMA_CM_EVENT_CONNECT_REQUEST) {
		on_request(h, event);
		return;
	}
	agent = adv_cm_id_user(event->id);
	REQUIRE(h->sim, agent && agent->id == event->id, "host %u: an event of no connection",
		h->index);
	if (h->sim->trace)
		printf("%14.3f us  host %u     connection %u side %u: CM event %d status %d\n",
		       (double)h->sim->now / 1000, h->index, agent->c->index, agent->side,
		       (int)event->type, event->status);
	check_order(agent, event);
	agent->events |= bit(event->type);
	if (event->type == RDMA_CM_EVENT_CONNECT_RESPONSE)
		on_response(agent->c, event);
	else if (event->type == RDMA_CM_EVENT_ESTABLISHED)
		agent->established = true;
	else if (event->type != RDMA_CM_EVENT_TIMEWAIT_EXIT)
		on_end_of(agent, event);
}

/* Handles the manager's events and sends its messages. */
void manager_turn(struct host *h)
{
	struct adv_cm_event event;
	struct adv_cm_mad mad;

	if (!h->cm)
		return;
	while (adv_cm_next_event(h->cm, &event))
		on_event(h, &event);
	while (adv_cm_tx(h->cm, h->sim->now, &mad))
		send_mad(h, &mad);
}

/* ---- ending ---- */

static void leave(struct agent *agent, uint64_t now)
{
	adv_cm_id_destroy(agent->id, now);
	agent->id = NULL;
	agent->left = true;
}

/* Takes the next step to end the connection at both sides. True: it has ended. */
bool manager_part(struct connection *c)
{
	struct sim *s = c->sim;

	for (unsigned i = 0; i < 2; i++) {
		struct agent *agent = &c->agent[i];

		if (!agent->id)
			continue;
		if (!agent->leave_at)
			agent->leave_at = s->now + below(s, MANAGER, i ? 30 * MS : 5 * MS);
		if (s->now < agent->leave_at || (agent->asked && !agent->over))
			continue;
		if (agent->over || chance(s, MANAGER, 300) ||
		    adv_cm_disconnect(agent->id, s->now) != 0)
			leave(agent, s->now);
		agent->asked = true;
	}
	return !c->agent[0].id && !c->agent[1].id;
}

/* Continues to connect. False: the attempt has failed. */
bool manager_watch(struct connection *c)
{
	struct sim *s = c->sim;
	struct agent *agent = &c->agent[1];

	REQUIRE(s, s->now < c->attempt_at + PATIENCE,
		"connection %u: it is neither made nor refused", c->index);
	if (agent->id && agent->decide_at && !c->end[1].qp) {
		agent->over = c->refused = true;
		leave(agent, s->now);
	} else if (agent->id && agent->decide_at && s->now >= agent->decide_at && !agent->over) {
		decide(c);
	}
	return !c->given_up && !c->end[0].purged;
}
