/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb nvme add and remove: changes of a running target. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/nvme_cli/command.h"
#include "storage/kit/control_client.h"
#include "storage/nvme_server/options.h"

/* Sends the request of a change. Returns the exit status. */
static int send_change(const struct adv_nvme_change_options *o, const char *verb, const char *path,
		       const char *done)
{
	char text[ADV_KIT_CONTROL_MESSAGE], why[ADV_KIT_CONTROL_REPLY], nsid_line[32] = "";
	const char *nqn = o->nqn;
	uint32_t nsid;
	int n;

	if (o->nsid)
		snprintf(nsid_line, sizeof(nsid_line), "nsid = %u\n", o->nsid);
	n = snprintf(text, sizeof(text),
		     "%s\n%s%s%s[namespace]\n%s%s%s%sread-only = %s\nbuffered = %s\n"
		     "block-size = %u\n",
		     verb, nqn ? "[subsystem " : "", nqn ? nqn : "", nqn ? "]\n" : "", nsid_line,
		     path ? "path = " : "", path ? path : "", path ? "\n" : "",
		     o->options.read_only ? "yes" : "no", o->options.buffered ? "yes" : "no",
		     1u << (path ? o->options.block_shift : 12));
	if (n >= (int)sizeof(text) || (nqn && strpbrk(nqn, "\n]")) ||
	    (path && strchr(path, '\n'))) {
		fprintf(stderr, "a name is too long, or has a line break\n");
		return EXIT_FAILURE;
	}
	if (!adv_kit_control_request(o->control, text, &nsid, why)) {
		fprintf(stderr, "%s\n", why);
		return EXIT_FAILURE;
	}
	printf("namespace %u %s\n", nsid, done);
	return EXIT_SUCCESS;
}

int adv_nvme_add_main(int argc, char **argv)
{
	struct adv_nvme_change_options o;
	char *path = NULL;
	int status;

	adv_options_parse(&adv_nvme_add_syntax, argc, argv, &o);
	/* The target may run in another folder. */
	if (strncmp(o.path, "ram:", 4) == 0)
		path = strdup(o.path);
	else
		path = realpath(o.path, NULL);
	if (!path) {
		perror(o.path);
		return EXIT_FAILURE;
	}
	status = send_change(&o, "add", path, "added");
	free(path);
	return status;
}

int adv_nvme_remove_main(int argc, char **argv)
{
	struct adv_nvme_change_options o;

	adv_options_parse(&adv_nvme_remove_syntax, argc, argv, &o);
	return send_change(&o, "remove", NULL, "removed");
}
