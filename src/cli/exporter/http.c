/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/exporter/http.h"

#include <limits.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/exporter/http_clients.h"

/* Limits against clients that open connections, or send without end. cli/exporter/http_clients.h
 * has those for clients that send slowly; the limit here has room for connections that give way. */
#define CONNECTIONS	 64
#define CONNECTION_BYTES 16384u /* of a request's line and headers */

struct adv_http_server {
	struct MHD_Daemon *daemon;
	struct adv_http_clients clients;
	adv_http_answer *answer;
	void *user;
};

static enum MHD_Result send_page(struct MHD_Connection *c, const struct adv_http_page *p,
				 const char *allow)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(p->len, (void *)(uintptr_t)p->text,
								 MHD_RESPMEM_MUST_COPY);
	enum MHD_Result result;

	if (!r)
		return MHD_NO;
	(void)MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, p->type);
	if (allow)
		(void)MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, allow);
	result = MHD_queue_response(c, p->status, r);
	MHD_destroy_response(r);
	return result;
}

static enum MHD_Result handle_request(void *user, struct MHD_Connection *c, const char *url,
				      const char *method, const char *version, const char *data,
				      size_t *size, void **state)
{
	static const char text[] = "only GET and HEAD\n";
	static const struct adv_http_page refused = {MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain",
						     text, sizeof(text) - 1};
	static char seen;
	const struct adv_http_server *s = user;
	struct adv_http_page page;

	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return *state ? MHD_NO : send_page(c, &refused, "GET, HEAD");
	if (!*state) {
		*state = &seen; /* the headers; the body follows */
		return MHD_YES;
	}
	if (*size) {
		*size = 0; /* a body is ignored */
		return MHD_YES;
	}
	page = s->answer(s->user, url);
	return send_page(c, &page, NULL);
}

static void note_connection(void *user, struct MHD_Connection *c, void **context,
			    enum MHD_ConnectionNotificationCode what)
{
	const union MHD_ConnectionInfo *fd, *peer;
	struct adv_http_server *s = user;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		adv_http_client_remove(&s->clients, *context);
		*context = NULL;
		return;
	}
	fd = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	peer = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	if (fd && peer)
		*context = adv_http_client_add(&s->clients, fd->connect_fd, peer->client_addr);
}

static void note_answer(void *user, struct MHD_Connection *c, void **state,
			enum MHD_RequestTerminationCode how)
{
	const union MHD_ConnectionInfo *context =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct adv_http_server *s = user;

	if (context && how == MHD_REQUEST_TERMINATED_COMPLETED_OK)
		adv_http_client_answered(&s->clients, context->socket_context);
}

static struct adv_http_server *start_server(int listener, adv_http_answer *answer, void *user)
{
	struct adv_http_server *s = malloc(sizeof(*s));

	if (!s) {
		close(listener);
		return NULL;
	}
	*s = (struct adv_http_server){.answer = answer, .user = user};
	adv_http_clients_init(&s->clients);
	s->daemon = MHD_start_daemon(
		MHD_USE_EPOLL, 0, NULL, NULL, handle_request, s, MHD_OPTION_LISTEN_SOCKET, listener,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS, MHD_OPTION_NOTIFY_CONNECTION,
		note_connection, s, MHD_OPTION_NOTIFY_COMPLETED, note_answer, s,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
	if (s->daemon)
		return s;
	close(listener);
	free(s);
	return NULL;
}

static void stop_server(struct adv_http_server *s)
{
	MHD_stop_daemon(s->daemon);
	free(s);
}

static int server_descriptor(const struct adv_http_server *s)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);

	return info ? info->epoll_fd : -1;
}

static int server_timeout(struct adv_http_server *s)
{
	int ours = adv_http_clients_timeout(&s->clients);
	MHD_UNSIGNED_LONG_LONG ms;

	if (MHD_get_timeout(s->daemon, &ms) != MHD_YES || (ours >= 0 && ms > (unsigned)ours))
		return ours;
	return ms < INT_MAX ? (int)ms : INT_MAX;
}

static void run_server(struct adv_http_server *s)
{
	adv_http_clients_expire(&s->clients);
	(void)MHD_run(s->daemon);
}

__attribute__((visibility("default"))) const struct adv_http adv_http = {
	start_server, stop_server, server_descriptor, server_timeout, run_server};
