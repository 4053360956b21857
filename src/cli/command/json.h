/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * JSON of all subcommands, by json-c. These functions never return NULL. If there is no memory,
 * they print an error and exit with ADV_EXIT_FAILED.
 */
#ifndef ADV_CLI_COMMAND_JSON_H
#define ADV_CLI_COMMAND_JSON_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Returns the number of bytes of the UTF-8 character at `text` (RFC 3629); 0: it is not UTF-8. */
size_t adv_utf8_length(const char *text);

struct json_object *adv_json_object(void);
struct json_object *adv_json_array(void);
struct json_object *adv_json_number(uint64_t value);

/*
 * Returns a string. Names of files and interfaces may be any bytes. A byte that is not UTF-8
 * becomes \udc80 to \udcff. A reader recovers the byte from it like Python's os.fsencode().
 */
struct json_object *adv_json_text(const char *text);

/* Returns the number value / ADV_RATIO_ONE with all nine decimals. */
struct json_object *adv_json_ratio(uint64_t value);

/* Adds a member to an object. `to` owns the reference to `value` then. NULL becomes null. */
void adv_json_add(struct json_object *to, const char *key, struct json_object *value);
/* As adv_json_add(), but appends an element to an array. */
void adv_json_append(struct json_object *to, struct json_object *value);

void adv_json_add_number(struct json_object *to, const char *key, uint64_t value);
void adv_json_add_text(struct json_object *to, const char *key, const char *text);
/* Adds `len` bytes as a string of hexadecimal digits. */
void adv_json_add_hex(struct json_object *to, const char *key, const uint8_t *bytes, size_t len);
void adv_json_add_flag(struct json_object *to, const char *key, bool flag);

/* Adds an empty object and returns it. `to` owns the reference. */
struct json_object *adv_json_add_object(struct json_object *to, const char *key);
/* As adv_json_add_object(), but adds an empty array. */
struct json_object *adv_json_add_array(struct json_object *to, const char *key);

/* Writes an object with indentation and a line feed at the end, and releases it. An error remains
 * in the stream. */
void adv_json_print(FILE *f, struct json_object *o);
/* As adv_json_print(), but writes one line without a line feed. */
void adv_json_print_line(FILE *f, struct json_object *o);

/* As adv_json_print_line(), but the text is safe inside the script element of an HTML page. */
void adv_json_print_in_html(FILE *f, struct json_object *o);

#endif
