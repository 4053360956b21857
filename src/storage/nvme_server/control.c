/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme_server/control.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "storage/kit/control_client.h"
#include "storage/nvme_server/stat_reply.h"

/* A request with the section of its subsystem. */
enum { REQUEST_MAX = ADV_KIT_CONTROL_MESSAGE + ADV_NVME_NQN_LEN + 16 };

bool adv_nvme_control_open(struct adv_nvme_control *c, const char *name,
			   struct adv_nvme_subsystems *subsystems, char why[ADV_NVME_BACKEND_WHY])
{
	char reason[ADV_KIT_CONTROL_REPLY];

	c->subsystems = subsystems;
	c->count = 0;
	c->listener = adv_kit_control_listen(&adv_kit_control_target, name,
					     ADV_NVME_CONTROL_CLIENTS, reason);
	if (c->listener < 0)
		snprintf(why, ADV_NVME_BACKEND_WHY, "%.*s", (int)ADV_NVME_BACKEND_WHY - 1, reason);
	return c->listener >= 0;
}

void adv_nvme_control_close(struct adv_nvme_control *c)
{
	while (c->count)
		close(c->clients[--c->count]);
	if (c->listener >= 0)
		close(c->listener);
	c->listener = -1;
}

unsigned adv_nvme_control_fds(const struct adv_nvme_control *c, struct pollfd *fds)
{
	unsigned count = 0;

	if (c->listener < 0)
		return 0;
	fds[count++] = (struct pollfd){.fd = c->listener, .events = POLLIN};
	for (unsigned i = 0; i < c->count; i++)
		fds[count++] = (struct pollfd){.fd = c->clients[i], .events = POLLIN};
	return count;
}

/* Of too many clients the one that has been silent for the longest time is closed. */
static void accept_clients(struct adv_nvme_control *c)
{
	int fd;

	while ((fd = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		if (!adv_kit_control_peer_allowed(fd, false)) {
			close(fd);
			continue;
		}
		if (c->count == ADV_NVME_CONTROL_CLIENTS) {
			close(c->clients[0]);
			memmove(c->clients, c->clients + 1, --c->count * sizeof(c->clients[0]));
		}
		c->clients[c->count++] = fd;
	}
}

/* Reads and answers a request. True: the client has ended. */
static bool serve_client(struct adv_nvme_control *c, int fd, bool *changed)
{
	static char text[ADV_KIT_CONTROL_MESSAGE + 1];
	char reply[ADV_KIT_CONTROL_REPLY];
	ssize_t n = recv(fd, text, sizeof(text), MSG_DONTWAIT);

	if (n < 0)
		return errno != EAGAIN && errno != EINTR;
	if (n == (ssize_t)strlen(ADV_KIT_CONTROL_STAT) &&
	    memcmp(text, ADV_KIT_CONTROL_STAT, (size_t)n) == 0) {
		adv_nvme_stat_send(c->subsystems, fd);
		return true;
	}
	if (n > 0)
		adv_nvme_control_handle(c->subsystems, text, (size_t)n, reply);
	*changed |= n > 0;
	/* A client that does not read its reply gets none. */
	if (n > 0 && send(fd, reply, strlen(reply), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return true;
	return true;
}

bool adv_nvme_control_run(struct adv_nvme_control *c)
{
	bool changed = false;

	if (c->listener < 0)
		return false;
	accept_clients(c);
	for (unsigned i = 0; i < c->count;) {
		if (!serve_client(c, c->clients[i], &changed)) {
			i++;
			continue;
		}
		close(c->clients[i]);
		memmove(c->clients + i, c->clients + i + 1,
			(--c->count - i) * sizeof(c->clients[0]));
	}
	return changed;
}

/* --- requests --- */

/* Separates the first line. False: it is the only one, or longer than any verb. */
static bool take_verb(const char **text, size_t *len, char verb[8])
{
	const char *end = memchr(*text, '\n', *len < 8 ? *len : 8);

	if (!end)
		return false;
	memcpy(verb, *text, (size_t)(end - *text));
	verb[end - *text] = 0;
	*len -= (size_t)(end + 1 - *text);
	*text = end + 1;
	return true;
}

/* Executes a request whose configuration has one namespace. */
static void execute_change(struct adv_nvme_subsystems *s, const char *verb,
			   const struct adv_nvme_subsystem_settings *settings,
			   char reply[ADV_KIT_CONTROL_REPLY])
{
	const struct adv_nvme_namespace_settings *n = settings->namespaces;
	char why[ADV_NVME_BACKEND_WHY] = "";
	uint32_t nsid = 0;

	if (strcmp(verb, "add") == 0 && n->path)
		nsid = adv_nvme_subsystems_add(s, settings->nqn, n, false, why);
	else if (strcmp(verb, "remove") == 0 && n->nsid && !n->path)
		nsid = adv_nvme_subsystems_remove(s, settings->nqn, n->nsid, why) ? n->nsid : 0;
	else
		snprintf(why, sizeof(why), "the request is incomplete");
	if (nsid)
		snprintf(reply, ADV_KIT_CONTROL_REPLY, "ok %u", nsid);
	else
		snprintf(reply, ADV_KIT_CONTROL_REPLY, "%s", why);
}

/* Copies the configuration of a request to `whole`, and names the only subsystem if the request
 * names none. Returns the length; 0: `why`. */
static size_t complete_request(struct adv_nvme_subsystems *s, const char *text, size_t len,
			       char whole[REQUEST_MAX], char why[ADV_NVME_BACKEND_WHY])
{
	static const char anonymous[] = "[namespace]";
	char nqn[ADV_NVME_NQN_LEN];
	size_t n = 0;

	if (len >= strlen(anonymous) && memcmp(text, anonymous, strlen(anonymous)) == 0) {
		if (!adv_nvme_subsystems_only(s, nqn, why))
			return 0;
		n = (size_t)snprintf(whole, REQUEST_MAX, "[subsystem %s]\n", nqn);
	}
	memcpy(whole + n, text, len);
	return n + len;
}

void adv_nvme_control_handle(struct adv_nvme_subsystems *s, const char *text, size_t len,
			     char reply[ADV_KIT_CONTROL_REPLY])
{
	char whole[REQUEST_MAX], why[ADV_NVME_BACKEND_WHY], verb[8];
	struct adv_nvme_config config;

	if (len > ADV_KIT_CONTROL_MESSAGE) {
		snprintf(reply, ADV_KIT_CONTROL_REPLY, "the request is too long");
		return;
	}
	if (!take_verb(&text, &len, verb)) {
		snprintf(reply, ADV_KIT_CONTROL_REPLY, "the request is neither add nor remove");
		return;
	}
	if (len > 0 && (len = complete_request(s, text, len, whole, why)) == 0) {
		snprintf(reply, ADV_KIT_CONTROL_REPLY, "%s", why);
		return;
	}
	if (!adv_nvme_config_parse(whole, len, &config, why)) {
		snprintf(reply, ADV_KIT_CONTROL_REPLY, "%s", why);
		return;
	}
	if (config.subsystem_count == 1 && config.subsystems[0].namespace_count == 1)
		execute_change(s, verb, &config.subsystems[0], reply);
	else
		snprintf(reply, ADV_KIT_CONTROL_REPLY, "the request does not have one namespace");
	adv_nvme_config_free(&config);
}
