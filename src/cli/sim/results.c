/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/sim/results.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command/command.h"
#include "cli/command/json.h"

#define FILE_MOST (64u << 20)

/* Returns the name of a run's file with an ending; NULL: no memory. */
static char *name_of(const struct adv_result_key *key, const char *ending)
{
	char *path;

	if (asprintf(&path, "%s/run-%05u.json%s", key->folder, key->run, ending) < 0) {
		fprintf(stderr, "adverb sim: no memory\n");
		return NULL;
	}
	return path;
}

/* Returns what a run depends on: a hash of all input, and the values of the sweep. */
static struct json_object *describe_key(const struct adv_result_key *key)
{
	struct json_object *o = adv_json_object(), *set;
	char input[24];

	snprintf(input, sizeof(input), "%016" PRIx64, key->input);
	adv_json_add_text(o, "input", input);
	set = adv_json_add_array(o, "set");
	for (unsigned i = 0; i < key->sets; i++)
		adv_json_append(set, adv_json_text(key->set[i]));
	return o;
}

static bool is_of_run(const struct adv_result_key *key, struct json_object *file)
{
	struct json_object *expected = describe_key(key);
	bool same = json_object_equal(expected, json_object_object_get(file, "run"));

	json_object_put(expected);
	return same;
}

enum adv_result adv_result_load(const struct adv_result_key *key, struct json_object **result)
{
	char *path = name_of(key, ""), *text = NULL;
	enum adv_result found = ADV_RESULT_BAD;
	struct json_object *file = NULL;
	size_t len = 0;

	if (path && access(path, F_OK)) {
		free(path);
		return ADV_RESULT_NONE;
	}
	if (path)
		text = adv_cli_read_file("adverb sim", path, FILE_MOST, &len);
	if (text)
		file = json_tokener_parse(text);
	if (file && is_of_run(key, file) && json_object_object_get(file, "result")) {
		*result = json_object_get(json_object_object_get(file, "result"));
		found = ADV_RESULT_FOUND;
	} else if (text) {
		fprintf(stderr,
			"adverb sim: %s is not a result of this run: the scenario, --set or "
			"--sweep was another one\n",
			path);
	}
	json_object_put(file);
	free(text);
	free(path);
	return found;
}

static bool write_file(const char *path, struct json_object *o)
{
	FILE *f = fopen(path, "w");
	bool bad;

	if (!f)
		return false;
	adv_json_print(f, o);
	bad = ferror(f);
	return fclose(f) == 0 && !bad;
}

bool adv_result_store(const struct adv_result_key *key, struct json_object *result)
{
	struct json_object *o = adv_json_object();
	char ending[32], *path = name_of(key, ""), *part;
	bool good;

	/* Two processes that do the same run write different files until they rename them. */
	snprintf(ending, sizeof(ending), ".%d", (int)getpid());
	part = name_of(key, ending);
	adv_json_add(o, "run", describe_key(key));
	adv_json_add(o, "result", json_object_get(result));
	good = path && part && (mkdir(key->folder, 0777) == 0 || errno == EEXIST);
	if (good) {
		good = write_file(part, o);
		good = good && rename(part, path) == 0;
	} else {
		json_object_put(o);
	}
	if (!good)
		fprintf(stderr, "adverb sim: %s: %s\n", path ? path : key->folder, strerror(errno));
	free(path);
	free(part);
	return good;
}
