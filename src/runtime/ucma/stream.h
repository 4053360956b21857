/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections of iWARP ids: TCP sockets and MPA's start-up frames. The daemon makes a connection up
 * to the point where both programs have agreed, and then passes a copy of the socket to the process
 * with the answer to ADV_UCMA_CMD_ACCEPT or ADV_UCMA_CMD_ESTABLISH. It keeps a copy itself. By
 * that, it notices the end of the connection, ends the connection if the process dies, and lets
 * the last bytes reach the peer.
 *
 * The functions that return int return 0 or errno. stream_end.h declares the
 * functions that end a connection.
 */
#ifndef ADV_RUNTIME_UCMA_STREAM_H
#define ADV_RUNTIME_UCMA_STREAM_H

#include "runtime/ucma/state.h"

/* Prepares the service. */
int adv_ucma_streams_start(struct adv_ucma *u);
/* Frees the service, and all connections that only end. */
void adv_ucma_streams_stop(struct adv_ucma *u);
/* Readable if adv_ucma_streams_poll() has work. */
int adv_ucma_streams_fd(const struct adv_ucma *u);
/* Handles what has happened to the sockets; a bounded number of them. */
void adv_ucma_streams_poll(struct adv_ucma *u);
/* Handles what is due at the time now_ms. */
void adv_ucma_streams_run(struct adv_ucma *u, uint64_t now_ms);
/* Returns the time of the next call of adv_ucma_streams_run(); 0: none. */
uint64_t adv_ucma_streams_due(const struct adv_ucma *u);

/* Gives a new id a stream: id->stream. crc (enum adv_mpa_crc), markers (a bool): the client's
 * options for connections that it opens or accepts. EINVAL: a value is unknown. */
int adv_ucma_stream_create(struct adv_ucma *u, struct adv_ucma_id *id, uint32_t crc,
			   uint32_t markers);
/* Binds a socket. For port 0, sets local->port to the one that the kernel chose. A second call
 * replaces the socket. */
int adv_ucma_stream_bind(struct adv_ucma_id *id, struct adv_cm_addr *local);
/* Sets the TOS of the connection, also of one that is made later. */
void adv_ucma_stream_set_tos(struct adv_ucma_id *id, uint8_t tos);
/* Listens at the bound socket. */
int adv_ucma_stream_listen(struct adv_ucma_id *id, unsigned backlog);
/* Connects to the id's peer. The event CONNECT_RESPONSE, REJECTED, UNREACHABLE or CONNECT_ERROR
 * follows. */
int adv_ucma_stream_connect(struct adv_ucma_id *id, const struct adv_cm_conn_param *param);
/* Accepts a request: the event ESTABLISHED follows. Sets *fd and *out to the connection and what
 * was agreed on. ECONNABORTED: the peer has given up. */
int adv_ucma_stream_accept(struct adv_ucma_id *id, const struct adv_cm_conn_param *param, int *fd,
			   struct adv_ucma_agreement *out);
/* After CONNECT_RESPONSE: as adv_ucma_stream_accept(). No event follows. */
int adv_ucma_stream_establish(struct adv_ucma_id *id, int *fd, struct adv_ucma_agreement *out);
/* True if the id has a connection, or begins one. Sets *qpn to the number of the queue pair that
 * the program has named in its request or its accept; 0: neither has happened. */
bool adv_ucma_stream_has_peer(const struct adv_ucma_id *id, uint32_t *qpn);
/* As adv_cm_qp_attr(). ECONNABORTED: the connection has ended. */
int adv_ucma_stream_qp_attr(const struct adv_ucma_id *id, enum ibv_qp_state state,
			    struct ibv_qp_attr *attr, int *mask);

#endif
