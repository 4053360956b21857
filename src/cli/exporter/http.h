/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The HTTP server of `adverb exporter`. It is a module (cli/command/module.h): libmicrohttpd reads
 * the requests. */
#ifndef ADV_CLI_EXPORTER_HTTP_H
#define ADV_CLI_EXPORTER_HTTP_H

#include <stddef.h>
#include <stdint.h>

#define ADV_HTTP_MODULE "adverb-http.so"
#define ADV_HTTP_SYMBOL "adv_http"

struct adv_http_server;

/* A page. The server copies the text. */
struct adv_http_page {
	unsigned status; /* of HTTP: 200, ... */
	const char *type;
	const char *text;
	size_t len;
};

/* Answers a GET or HEAD of a path. */
typedef struct adv_http_page adv_http_answer(void *user, const char *path);

/* One thread at a time uses a server. */
struct adv_http {
	/* Starts a server on a listening socket, which belongs to the server from then on, also if
	 * the call fails. NULL: out of memory or descriptors. */
	struct adv_http_server *(*start)(int listener, adv_http_answer *answer, void *user);
	void (*stop)(struct adv_http_server *s);
	/* Returns the descriptor to poll for readability. */
	int (*descriptor)(const struct adv_http_server *s);
	/* Returns the time after which run() has work without an event, ms; -1: never. */
	int (*timeout)(struct adv_http_server *s);
	/* Serves readable connections, without blocking except in answers. */
	void (*run)(struct adv_http_server *s);
};

extern const struct adv_http adv_http;

#endif
