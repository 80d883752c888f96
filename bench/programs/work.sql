-- SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
-- A database in memory: inserts, an index, joins, aggregates, updates, text functions.
CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT, city INTEGER, score REAL);
CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
  INSERT INTO city SELECT i, printf('city-%04d', i * 7919 % 10007) FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150000)
  INSERT INTO person SELECT i, printf('name-%x', i * 2654435761 % 4294967291), 1 + i * 31 % 500, (i * 7919 % 100003) / 7.0 FROM n;
CREATE INDEX person_by_city ON person(city, score);
SELECT count(*), round(sum(score), 3) FROM person JOIN city ON city.id = person.city WHERE city.name LIKE '%7%';
SELECT city.name, count(*), round(max(score), 3) FROM person JOIN city ON city.id = person.city
  GROUP BY city.id ORDER BY 3 DESC, 1 LIMIT 5;
UPDATE person SET score = score + length(name) WHERE id % 3 = 0;
SELECT substr(name, 6, 3) AS part, count(*) FROM person GROUP BY part ORDER BY 2 DESC, 1 LIMIT 5;
DELETE FROM person WHERE score > 12000;
SELECT count(*), round(avg(score), 6), min(name), max(name) FROM person;
