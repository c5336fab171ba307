"""The events of each topic, in the order in which they happen.

A topic begins with `#`. `Name: ...` is something that differs from story to story, with the gender of each noun (m, f,
n, p for plurals, w for weak masculines such as "der Welpe, den Welpen"); `=` joins words for the same thing. An event
begins with `>`; `<` names the event that it is a reason for: `> nass < regen`. Below are the
ways to say it, in the order of a German infinitive: who | what | to do.

- `WER` is the person of the story, `{WEN}` and `{WEM}` are its other cases.
- `{den Zug}` is a noun; the article is written as if it were masculine, and tells case and kind: {einen Suppe} becomes
  "eine Suppe". `{einen neu Suppe}` has an adjective. `{sich}` and `{seinen Hund}` follow the subject.
- `^` marks a part that may stand before the verb, `+` the object that becomes the subject of a passive.
- `auf-stehen` is a verb that separates in main clauses.
"""

from __future__ import annotations

NOUNS = """
Arzt m = Doktor m; Aufgaben p; Ball m; Beet n; Bericht m; Bibliothekarin f; Blätter p; Bremsen p;
Bücherei f = Bibliothek f; Bühne f; Büro n; Chefin f = Chef m; Computer m = Rechner m; Drucker m; Erde f;
Fahrkarte f = Ticket n; Fahrkarten p = Tickets p; Fahrrad n = Rad n; Fahrradkette f; Fans p = Zuschauer p; Ferien p;
Frühling m; Geburtstag m; Gegner m; Geschirr n; Gewitter n; Gäste p; Himmel m; Karotten p = Möhren p; Katze f;
Kerzen p; Koffer m; Kuchen m = Torte f; Küche f; Laden m = Geschäft n; Lehrerin f = Lehrer m; Lied n = Song m; Loch n;
Mannschaft f = Team n; Medikament n = Arznei f; Meer n; Musiklehrerin f = Musiklehrer m; Nachrichten p; Papier n;
Party f = Feier f; Pflanzen p; Prüfung f = Klausur f; Publikum n; Regen m; Regenbogen m; Regenschirm m = Schirm m;
Reifen m; Sandburg f; Schaffner m = Zugbegleiter m; Schiedsrichter m; Schlauch m; Schnecken p; Schule f; Sieg m;
Sitzung f = Besprechung f; Sofa n = Couch f; Sonne f; Spiel n = Partie f; Stimmung f; Tage p; Techniker m; Tisch m;
Topf m; Tor n = Treffer m; Trainer m = Coach m; Trikot n; Unkraut n; Unterricht m; Urlaub m;
Verkäuferin f = Verkäufer m; Wellen p; Werkzeug n; Wetterbericht m; Wohnzimmer n; Wolken p; Zug m = Bahn f; Zuhörer p
"""

YOUNG = "Schule Fußball"
"""Topics of children and young people."""

GROWN_UP = "Büro"

TOPICS = """
# Kochen
Speise: Suppe f | Eintopf m | Gulasch n | Gemüsesuppe f | Curry n | Kartoffelsuppe f | Linsensuppe f | Tomatensoße f
> hunger
WER | Hunger haben
WER | hungrig sein
WER | großen Hunger | haben
WER | etwas Warmes | essen wollen
> plan < hunger
WER | {einen Speise} | kochen wollen
WER | ^zum Abendessen | {einen Speise} | machen wollen
WER | Lust auf {einen Speise} | haben
> gemüse
WER | +{den Karotten} und Zwiebeln | schneiden
WER | +{den Karotten} und Zwiebeln | in kleine Stücke | schneiden
WER | ^auf einem Brett | {den Karotten} und Zwiebeln | klein-schneiden
> kochen
WER | +{den Speise} | ^auf dem Herd | kochen
WER | +{den Speise} | zu-bereiten
WER | ^in der Küche | {den Speise} | machen
> würzen
WER | +{den Speise} | mit Salz und Pfeffer | würzen
WER | Salz und Pfeffer | in {den Topf} | geben
WER | noch etwas Salz und Pfeffer | dazu-geben
> duft
{der Küche} | nach gutem Essen | duften
es | ^in der Küche | wunderbar | riechen
es | ^in der ganzen Wohnung | nach Essen | duften
> tisch
WER | +{den Tisch} | decken
WER | Teller und Löffel | auf {den Tisch} | stellen
WER | ^auf {dem Tisch} | Teller und Gläser | verteilen
> essen
WER | +{den Speise} | ^mit der Familie | essen
WER | ^mit der Familie | am Tisch | essen
WER | +{den Speise} | ^gemeinsam mit den anderen | essen
> lecker
{der Speise} | sehr gut | schmecken
{der Speise} | lecker sein
{der Speise} | allen | schmecken
{der Speise} | einfach köstlich | sein
> abwasch
WER | +{den Geschirr} | spülen
WER | +{den Geschirr} | ab-waschen
WER | ^nach dem Essen | den Abwasch | machen

# Bahnreise
Stadt: Hamburg | München | Köln | Dresden | Leipzig | Bremen | Freiburg | Wien | Zürich | Kassel
> reise
WER | nach {Stadt} | fahren wollen
WER | ^mit {dem Zug} | nach {Stadt} | reisen wollen
WER | eine Reise nach {Stadt} | planen
> fahrkarte
WER | +{einen Fahrkarte} nach {Stadt} | kaufen
WER | ^am Schalter | {einen Fahrkarte} nach {Stadt} | kaufen
WER | ^im Internet | {einen Fahrkarte} nach {Stadt} | buchen
> warten
WER | ^am Bahnhof | auf {den Zug} | warten
WER | ^auf dem Bahnsteig | auf {den Zug} | warten
WER | ^am Gleis | auf {den Zug} | warten
> verspätung
{der Zug} | Verspätung haben
{der Zug} | zu spät | kommen
{der Zug} | nicht pünktlich | sein
{der Zug} | eine halbe Stunde später | kommen
> ärger < verspätung
WER | {sich} | über die Verspätung | ärgern
WER | schlechte Laune | haben
WER | ungeduldig | werden
> einsteigen
WER | in {den Zug} | ein-steigen
WER | in {den Zug} | steigen
WER | mit dem Gepäck | in {den Zug} | klettern
> platz
WER | einen Platz am Fenster | finden
WER | {sich} | ans Fenster | setzen
WER | ^am Fenster | Platz | nehmen
> landschaft
WER | aus dem Fenster | schauen
WER | aus dem Fenster | sehen
WER | ^während der Fahrt | die Landschaft | betrachten
> schaffner
{der Schaffner} | +{den Fahrkarten} | kontrollieren
{der Schaffner} | +{den Fahrkarten} | prüfen
{der Schaffner} | nach {dem Fahrkarten} | fragen
> ankunft
{der Zug} | in {Stadt} | an-kommen
{der Zug} | {Stadt} | erreichen
{der Zug} | ^nach drei Stunden | in {Stadt} | halten
> besuch
WER | ^in {Stadt} | alte Freunde | besuchen
WER | ^in {Stadt} | alte Freunde | treffen
WER | {sich} | ^in {Stadt} | mit alten Freunden | treffen

# Schule
Fach: Mathematik | Deutsch | Englisch | Erdkunde | Physik | Biologie | Geschichte | Chemie
> prüfung
WER | ^in {Fach} | {einen Prüfung} | schreiben müssen
WER | {einen Prüfung} in {Fach} | haben
WER | vor {einem Prüfung} in {Fach} | stehen
> lernen < prüfung
WER | ^zu Hause | für {den Prüfung} | lernen
WER | {sich} | auf {den Prüfung} | vor-bereiten
WER | ^am Schreibtisch | für {den Prüfung} | üben
> schwer
WER | {den Aufgaben} | nicht | verstehen
{der Aufgaben} | zu schwer | sein
WER | mit {dem Aufgaben} | nicht | zurecht-kommen
> erklären < schwer
{der Lehrerin} | +{den Aufgaben} | noch einmal | erklären
{der Lehrerin} | {WEM} | {den Aufgaben} | erklären
{der Lehrerin} | {WEM} | bei {dem Aufgaben} | helfen
> unterricht
{der Unterricht} | ^um acht Uhr | beginnen
{der Unterricht} | ^um acht Uhr | an-fangen
{der Schule} | ^um acht Uhr | los-gehen
> aufregung
WER | ^vor {dem Prüfung} | nervös | sein
WER | ^vor {dem Prüfung} | sehr aufgeregt | sein
WER | Angst vor {dem Prüfung} | haben
> schreiben
WER | alle Aufgaben | lösen
WER | +{den Aufgaben} | sorgfältig | bearbeiten
WER | ^im Klassenzimmer | {den Prüfung} | schreiben
> note
WER | eine gute Note | bekommen
WER | eine Eins | bekommen
WER | eine sehr gute Note | schreiben
> freude < note
WER | {sich} | über die gute Note | freuen
WER | über die Note | sehr froh | sein
WER | stolz auf die Note | sein
> ferien
{der Ferien} | beginnen
{der Ferien} | endlich | an-fangen
WER | endlich | Ferien | haben

# Garten
Gemüse: Tomaten p | Gurken p | Bohnen p | Erdbeeren p | Himbeeren p | Erbsen p
> frühling
{der Tage} | länger | werden
{der Frühling} | kommen
{der Frühling} | vor der Tür | stehen
> umgraben
WER | +{den Beet} | um-graben
WER | +{den Erde} | auf-lockern
WER | ^mit dem Spaten | {den Beet} | um-graben
> pflanzen
WER | ^im Garten | {den Gemüse} | pflanzen
WER | +{den Gemüse} | ins Beet | setzen
WER | ein Beet mit {Gemüse} | an-legen
> gießen
WER | +{den Pflanzen} | gießen
WER | +{den Gemüse} | mit Wasser | versorgen
WER | ^mit der Gießkanne | {den Gemüse} | gießen
> unkraut
WER | ^im Beet | {den Unkraut} | zupfen
WER | +{den Unkraut} | entfernen
WER | +{den Unkraut} | aus-reißen
> schnecken
{der Schnecken} | +{den Blätter} | fressen
{der Schnecken} | über {den Pflanzen} | her-fallen
{der Schnecken} | ^im Beet | Schaden | an-richten
> schützen < schnecken
WER | {den Pflanzen} | vor den Schnecken | schützen
WER | ^im Beet | die Schnecken | ein-sammeln
WER | die Schnecken | aus {dem Beet} | holen
> wachsen
{der Gemüse} | schnell | wachsen
{der Gemüse} | gut | gedeihen
{der Gemüse} | immer größer | werden
> ernten
WER | +{den Gemüse} | ernten
WER | +{den Gemüse} | pflücken
WER | einen Korb voll {Gemüse} | ernten
> teilen
WER | Freunden | ein paar {Gemüse} | schenken
WER | Freunden | etwas von der Ernte | geben
WER | einen Teil der Ernte | an Freunde | verschenken

# Ausflug
Ziel: See m | Wald m | Schloss n | Berg m | Burg f | Tierpark m | Wasserfall m | Turm m
> plan
WER | einen Ausflug zu {dem Ziel} | planen
WER | einen Ausflug zu {dem Ziel} | machen wollen
WER | zu {dem Ziel} | wandern wollen
> vorhersage
{der Wetterbericht} | Regen | melden
{der Wetterbericht} | Regen | an-kündigen
{der Wetterbericht} | schlechtes Wetter | vorher-sagen
> schirm < vorhersage
WER | {einen Regenschirm} | mit-nehmen
WER | +{den Regenschirm} | ein-packen
WER | an {den Regenschirm} | denken
> wolken
{der Wolken} | immer dunkler | werden
{der Himmel} | {sich} | zu-ziehen
{der Himmel} | grau | werden
> regen < wolken
es | stark | regnen
es | heftig | regnen
es | in Strömen | regnen
> nass < regen
WER | nass | werden
WER | bis auf die Haut | nass | werden
WER | völlig durchnässt | sein
> unterstellen < regen
WER | {sich} | ^unter einem Baum | unter-stellen
WER | ^unter einem Baum | Schutz | suchen
WER | ^unter einem Dach | das Ende des Regens | ab-warten
> gewitter
es | laut | donnern
{der Gewitter} | näher | kommen
es | ^über {dem Ziel} | blitzen
> trocken
{der Regen} | auf-hören
es | nicht mehr | regnen
{der Regen} | vorbei sein
> sonne
{der Sonne} | wieder | scheinen
{der Sonne} | wieder | heraus-kommen
{der Himmel} | wieder blau | sein
> regenbogen
WER | einen Regenbogen | sehen
WER | ^am Himmel | einen Regenbogen | entdecken
{ein Regenbogen} | über {dem Ziel} | stehen
> heimweg
WER | zufrieden | nach Hause | gehen
WER | den Heimweg | an-treten
WER | wieder | heim-gehen

# Einkaufen
Ware: Jacke f | Mantel m | Pullover m | Mütze f | Hose f | Hemd n | Weste f | Regenjacke f
> brauchen
WER | {einen neu Ware} | brauchen
WER | {einen neu Ware} | suchen
WER | {einen neu Ware} | haben wollen
> stadt
WER | zum Einkaufen | in die Stadt | fahren
WER | zum Einkaufen | in die Stadt | gehen
WER | ^in der Stadt | einen Einkaufsbummel | machen
> laden
WER | in {einen Laden} | gehen
WER | {einen Laden} | betreten
WER | {sich} | ^in {einem Laden} | um-sehen
> verkäuferin
{der Verkäuferin} | {WEM} | mehrere Modelle | zeigen
{der Verkäuferin} | {WEN} | freundlich | beraten
{der Verkäuferin} | {WEM} | bei der Auswahl | helfen
> anprobieren
WER | +{den Ware} | an-probieren
WER | ^vor dem Spiegel | {den Ware} | an-probieren
WER | {sich} | ^mit {dem Ware} | im Spiegel | betrachten
> passen
{der Ware} | gut | passen
{der Ware} | {WEM} | gut | stehen
{der Ware} | die richtige Größe | haben
> teuer
{der Ware} | viel Geld | kosten
{der Ware} | ziemlich teuer | sein
{der Ware} | nicht gerade billig | sein
> überlegen < teuer
WER | lange | überlegen
WER | lange | nach-denken
WER | {sich} | nicht sofort | entscheiden können
> kaufen
WER | +{den Ware} | kaufen
WER | {den Ware} | nehmen
WER | {sich} | für {den Ware} | entscheiden
> bezahlen
WER | ^an der Kasse | bezahlen
WER | ^an der Kasse | mit der Karte | zahlen
WER | die Rechnung | mit der Karte | bezahlen
> tragen
WER | {den Ware} | gleich | an-ziehen
WER | {den Ware} | stolz | tragen
WER | in {dem neu Ware} | nach Hause | gehen

# Fußball
Verein: Neustadt | Altdorf | Waldheim | Bergen | Seefeld | Steinbach | Talheim
> spiel
WER | gegen {Verein} | spielen
WER | ein wichtiges Spiel gegen {Verein} | haben
WER | gegen {Verein} | an-treten müssen
> training
WER | ^auf dem Platz | trainieren
WER | fleißig | für {den Spiel} | trainieren
WER | ^beim Training | Pässe und Schüsse | üben
> kabine
WER | {sich} | ^in der Kabine | um-ziehen
WER | +{den Trikot} | an-ziehen
WER | {sich} | für {den Spiel} | fertig-machen
> trainer
{der Trainer} | {dem Mannschaft} | Mut | machen
{der Trainer} | ^in der Kabine | eine Rede | halten
{der Trainer} | +{den Mannschaft} | motivieren
> anpfiff
{der Spiel} | beginnen
{der Spiel} | an-fangen
{der Schiedsrichter} | +{den Spiel} | an-pfeifen
> rückstand
{der Gegner} | das erste Tor | schießen
{der Gegner} | in Führung | gehen
{der Mannschaft} | null zu eins | zurück-liegen
> tor
WER | ein Tor | schießen
WER | {einen Tor} | erzielen
WER | +{den Ball} | ins Netz | schießen
> jubel < tor
{der Fans} | laut | jubeln
{der Fans} | begeistert | klatschen
{der Stimmung} | großartig | sein
> sieg
{der Mannschaft} | gegen {Verein} | gewinnen
{der Mannschaft} | {den Spiel} | gewinnen
{der Mannschaft} | {Verein} | besiegen
> feiern < sieg
WER | +{den Sieg} | ^mit den anderen | feiern
WER | ^nach {dem Spiel} | mit {dem Mannschaft} | feiern
WER | über {den Sieg} | glücklich | sein

# Arzt
Schmerz: Kopfschmerzen p | Halsschmerzen p | Bauchschmerzen p | Rückenschmerzen p | Ohrenschmerzen p
> schmerzen
WER | starke {Schmerz} | haben
WER | über {Schmerz} | klagen
WER | unter {Schmerz} | leiden
> fieber
WER | Fieber haben
WER | hohes Fieber | haben
WER | Fieber | bekommen
> bett < schmerzen
WER | ^im Bett | liegen
WER | ^im Bett | bleiben müssen
WER | nicht | auf-stehen können
> termin < schmerzen
WER | einen Termin bei {dem Arzt} | machen
WER | ^in der Praxis | an-rufen
WER | einen Termin in der Praxis | vereinbaren
> wartezimmer
WER | ^im Wartezimmer | sitzen
WER | ^im Wartezimmer | warten
WER | ^in der Praxis | eine Stunde | warten müssen
> untersuchung
{der Arzt} | +{WEN} | untersuchen
{der Arzt} | +{WEN} | gründlich | untersuchen
{der Arzt} | {WEM} | in den Hals | schauen
> diagnose
WER | eine Erkältung | haben
WER | erkältet sein
{der Arzt} | ^bei {WEM} | eine Erkältung | fest-stellen
> rezept
{der Arzt} | {WEM} | {einen Medikament} | verschreiben
{der Arzt} | {WEM} | ein Rezept | geben
{der Arzt} | {WEM} | ein Rezept | aus-stellen
> apotheke
WER | ^in der Apotheke | {den Medikament} | holen
WER | mit dem Rezept | zur Apotheke | gehen
WER | +{den Medikament} | aus der Apotheke | holen
> ausruhen
WER | {sich} | aus-ruhen
WER | ^auf {dem Sofa} | unter einer Decke | liegen
WER | {sich} | ^auf {dem Sofa} | aus-ruhen
> gesund
WER | wieder gesund | werden
WER | wieder gesund | sein
es | {WEM} | wieder besser | gehen
WER | keine Schmerzen mehr | haben

# Musik
Instrument: Gitarre f | Klavier n | Geige f | Trompete f | Flöte f | Cello n | Saxofon n | Harfe f
> üben
WER | {Instrument} | üben
WER | ^auf {dem Instrument} | ein neues Stück | üben
WER | ein schweres Stück für {Instrument} | üben
> unterricht
WER | zum Musikunterricht | gehen
WER | ^bei {dem Musiklehrerin} | Unterricht | haben
WER | eine Stunde bei {dem Musiklehrerin} | haben
> lied
WER | {einen neu Lied} | lernen
WER | {einen neu Lied} | ein-üben
WER | {einen Lied} | auswendig | lernen
> konzert
WER | ^in der Stadthalle | ein Konzert | geben
WER | ^in der Stadthalle | auf-treten
WER | ein Konzert in der Stadthalle | haben
> lampenfieber
WER | ^vor dem Auftritt | Lampenfieber | haben
WER | ^hinter der Bühne | Lampenfieber | bekommen
WER | ^hinter der Bühne | vor Aufregung | zittern
> bühne
WER | auf {den Bühne} | gehen
WER | +{den Bühne} | betreten
WER | vor {den Publikum} | treten
> spielen
WER | ^auf {dem Bühne} | {Instrument} | spielen
WER | {dem Publikum} | etwas auf {dem Instrument} | vor-spielen
WER | ohne Fehler | {Instrument} | spielen
> applaus
{der Publikum} | lange | applaudieren
{der Publikum} | viel Beifall | spenden
{der Zuhörer} | lange | Beifall | klatschen
> zugabe < applaus
WER | noch eine Zugabe | spielen
WER | eine Zugabe | geben
WER | noch {einen Lied} | spielen
> zufrieden
WER | mit dem Konzert | sehr zufrieden | sein
WER | {sich} | über den Beifall | freuen
WER | stolz auf den Auftritt | sein

# Hund
Tier: Hund m | Welpe w | Dackel m | Pudel m | Terrier m
> füttern
WER | +{den Tier} | füttern
WER | {dem Tier} | etwas zu fressen | geben
WER | {dem Tier} | den Napf | füllen
> unruhig
{der Tier} | an der Tür | kratzen
{der Tier} | nach draußen | wollen
{der Tier} | unruhig | vor der Tür | stehen
> leine < unruhig
WER | +{den Tier} | an die Leine | nehmen
WER | {dem Tier} | die Leine | an-legen
WER | {dem Tier} | die Leine | um-legen
> spaziergang
WER | mit {dem Tier} | in den Park | gehen
WER | +{den Tier} | ^im Park | aus-führen
WER | ^mit {dem Tier} | einen Spaziergang | machen
> katze
{der Tier} | eine Katze | sehen
{der Tier} | eine Katze | entdecken
{der Tier} | eine Katze | bemerken
> jagen < katze
{der Tier} | +{den Katze} | jagen
{der Tier} | {dem Katze} | nach-laufen
{der Tier} | hinter {dem Katze} | her-rennen
> weg
{der Tier} | plötzlich | weg sein
{der Tier} | weg-laufen
{der Tier} | plötzlich | verschwinden
> suchen < weg
WER | ^überall | {den Tier} | suchen
WER | laut | nach {dem Tier} | rufen
WER | ^im ganzen Park | nach {dem Tier} | suchen
> finden
WER | +{den Tier} | ^hinter einem Busch | finden
WER | +{den Tier} | ^hinter einem Busch | entdecken
{der Tier} | ^hinter einem Busch | sitzen
> froh < finden
WER | sehr erleichtert | sein
WER | erleichtert | auf-atmen
WER | sehr froh | sein
> schlafen
{der Tier} | ^im Körbchen | schlafen
{der Tier} | ^im Körbchen | ein-schlafen
{der Tier} | müde | im Körbchen | liegen

# Geburtstag
Geschenk: Buch n | Uhr f | Kamera f | Puzzle n | Halskette f | Füller m | Tasse f | Lampe f
> geburtstag
WER | Geburtstag haben
WER | {seinen Geburtstag} | feiern
WER | ein Jahr älter | werden
> einladen
WER | viele Gäste | ein-laden
WER | Einladungen | verschicken
WER | Freunde und Verwandte | ein-laden
> kuchen
WER | {einen Kuchen} | backen
WER | {einen Kuchen} mit Schokolade | backen
WER | ^für die Gäste | {einen Kuchen} | backen
> schmücken
WER | +{den Wohnzimmer} | schmücken
WER | bunte Girlanden | auf-hängen
WER | ^im Wohnzimmer | Luftballons | auf-hängen
> gäste
{der Gäste} | kommen
{der Gäste} | ein-treffen
{der Gäste} | an der Tür | klingeln
> geschenk
WER | {einen Geschenk} | bekommen
{der Gäste} | {WEM} | {einen Geschenk} | schenken
{der Gäste} | {WEM} | {einen Geschenk} | mit-bringen
> auspacken
WER | +{den Geschenk} | aus-packen
WER | das Päckchen | öffnen
WER | neugierig | das Papier | auf-reißen
> freude < geschenk
WER | {sich} | über {den Geschenk} | freuen
WER | {sich} | bei den Gästen | bedanken
WER | begeistert von {dem Geschenk} | sein
> kerzen
WER | +{den Kerzen} | aus-blasen
WER | +{den Kerzen} auf {dem Kuchen} | aus-pusten
WER | +{den Kerzen} auf {dem Kuchen} | aus-blasen
> singen
{der Gäste} | ein Lied | singen
{der Gäste} | ein Ständchen | singen
{der Gäste} | laut zusammen | singen
> party
{der Gäste} | bis in die Nacht | feiern
{der Gäste} | bis in die Nacht | tanzen
{der Party} | bis in die Nacht | dauern

# Fahrrad
Weg: zur Arbeit | zum Sport | in die Stadt | zum Markt | ins Schwimmbad | ins Kino
> fahren
WER | ^mit {dem Fahrrad} | {Weg} | fahren
WER | ^mit {dem Fahrrad} | {Weg} | unterwegs sein
WER | mit {dem Fahrrad} | {Weg} | wollen
> panne
{der Reifen} | ein Loch | haben
{der Reifen} | platt sein
{der Reifen} | Luft | verlieren
{der Fahrrad} | einen Platten | haben
> schieben < panne
WER | +{den Fahrrad} | nach Hause | schieben
WER | zu Fuß | weiter-gehen müssen
WER | von {dem Fahrrad} | ab-steigen müssen
> werkzeug
WER | +{den Werkzeug} | aus dem Keller | holen
WER | ^im Keller | nach {dem Werkzeug} | suchen
WER | +{den Werkzeug} | bereit-legen
> flicken
WER | +{den Schlauch} | flicken
WER | +{den Loch} im Schlauch | ab-dichten
WER | +{den Reifen} | reparieren
> pumpen
WER | +{den Reifen} | auf-pumpen
WER | Luft | in {den Reifen} | pumpen
WER | ^mit der Pumpe | {den Reifen} | auf-pumpen
> kette
WER | +{den Fahrradkette} | ölen
WER | +{den Fahrradkette} | schmieren
WER | Öl | auf {den Fahrradkette} | geben
> bremsen
WER | +{den Bremsen} | prüfen
WER | +{den Bremsen} | überprüfen
WER | +{den Bremsen} | kontrollieren
> probefahrt
WER | eine Probefahrt | machen
WER | eine Runde um das Haus | drehen
WER | +{den Fahrrad} | aus-probieren
> heil
{der Fahrrad} | wieder | funktionieren
{der Fahrrad} | wieder gut | fahren
{der Fahrrad} | wieder in Ordnung | sein

# Strand
Land: Italien | Spanien | Griechenland | Dänemark | Kroatien | Portugal | Frankreich
> urlaub
WER | ^in {Land} | Urlaub | machen
WER | {seinen Urlaub} in {Land} | verbringen
WER | in den Urlaub | nach {Land} | fahren
> packen
WER | +{den Koffer} | packen
WER | Badesachen | in {den Koffer} | legen
WER | Sonnencreme und Handtücher | ein-packen
> hotel
WER | ^in einem kleinen Hotel | wohnen
WER | ein Zimmer in einem Hotel am Meer | haben
WER | ^in einem Hotel am Meer | wohnen
> liegen
WER | ^am Strand | liegen
WER | ^am Strand | in der Sonne | liegen
WER | {sich} | ^am Strand | sonnen
> baden
WER | ^im Meer | schwimmen
WER | ^im Meer | baden
WER | ins Wasser | springen
> wellen
{der Wellen} | hoch sein
{der Wellen} | an den Strand | schlagen
{der Meer} | unruhig sein
> burg
WER | {einen Sandburg} | bauen
WER | eine Burg aus Sand | bauen
WER | ^mit Schaufel und Eimer | im Sand | spielen
> muscheln
WER | ^am Ufer | Muscheln | sammeln
WER | ^am Ufer | nach Muscheln | suchen
WER | schöne Muscheln | finden
> eis
WER | ^an der Promenade | ein Eis | essen
WER | ^an der Promenade | ein Eis | kaufen
WER | ein Eis mit Sahne | bestellen
> sonnenbrand
WER | einen Sonnenbrand | bekommen
WER | eine rote Nase von der Sonne | haben
WER | zu lange | in der Sonne | bleiben
> postkarte
WER | eine Postkarte | nach Hause | schicken
WER | Freunden | eine Postkarte | schreiben
WER | Ansichtskarten | verschicken

# Büro
> bericht
WER | an {einem Bericht} | arbeiten
WER | {einen Bericht} | schreiben
WER | {einen Bericht} | fertig-stellen müssen
> absturz
{der Computer} | ab-stürzen
{der Computer} | nicht mehr | funktionieren
{der Computer} | nicht mehr | an-gehen
> techniker < absturz
WER | {den Techniker} | an-rufen
WER | {den Techniker} | um Hilfe | bitten
WER | {dem Techniker} | das Problem | beschreiben
> reparatur
{der Techniker} | +{den Computer} | neu | starten
{der Techniker} | den Fehler | finden
{der Techniker} | +{den Computer} | reparieren
> kaffee
WER | eine Tasse Kaffee | trinken
WER | eine Kaffeepause | machen
WER | ^mit den Kollegen | einen Kaffee | trinken
> sitzung
WER | an {einem Sitzung} | teil-nehmen
WER | ^um zehn Uhr | in {einen Sitzung} | gehen
WER | ^mit den Kollegen | {einen Sitzung} | haben
> lang
{der Sitzung} | lange | dauern
{der Sitzung} | kein Ende | nehmen
{der Sitzung} | sehr lang | sein
> nachrichten
WER | eine Antwort auf {den Nachrichten} | schreiben
WER | +{den Nachrichten} | beantworten
WER | auf {den Nachrichten} | antworten
> drucker
{der Drucker} | kein Papier mehr | haben
{der Drucker} | leer sein
{der Papier} im Drucker | zu Ende | sein
> lob
{der Chefin} | +{WEN} | loben
{der Chefin} | mit {WEM} | zufrieden | sein
WER | ein Lob von {dem Chefin} | bekommen
> feierabend
WER | Feierabend | machen
WER | +{den Büro} | verlassen
WER | ^nach der Arbeit | nach Hause | gehen

# Lesen
Buch: Krimi m | Roman m | Comic m | Reiseführer m | Märchenbuch n | Gedichtband m | Abenteuerbuch n
> bücherei
WER | in {den Bücherei} | gehen
WER | +{den Bücherei} | besuchen
WER | ^in {dem Bücherei} | stöbern
> wunsch
WER | {einen spannend Buch} | suchen
WER | ^in den Regalen | nach {einem spannend Buch} | suchen
WER | {einen Buch} | lesen wollen
> rat
WER | {den Bibliothekarin} | um Rat | fragen
WER | {den Bibliothekarin} | um eine Empfehlung | bitten
WER | {den Bibliothekarin} | nach {einem gut Buch} | fragen
> leihen
WER | +{den Buch} | aus-leihen
WER | {den Buch} | mit nach Hause | nehmen
WER | ^an der Theke | {den Buch} | aus-leihen
> sofa
WER | ^auf {dem Sofa} | {den Buch} | lesen
WER | {sich} | ^mit {dem Buch} | auf {den Sofa} | setzen
WER | ^auf {dem Sofa} | in {dem Buch} | blättern
> fesselnd
{der Buch} | sehr spannend | sein
{der Buch} | {WEN} | fesseln
WER | {den Buch} | nicht | aus der Hand | legen können
> nacht < fesselnd
WER | bis Mitternacht | lesen
WER | die halbe Nacht | lesen
WER | erst spät | ein-schlafen
> müde < nacht
WER | sehr müde | sein
WER | kaum | wach | werden
WER | ^beim Frühstück | gähnen
> zurück
WER | +{den Buch} | zurück-geben
WER | +{den Buch} | zurück-bringen
WER | +{den Buch} | wieder | in {den Bücherei} | bringen
> empfehlen
WER | Freunden | {den Buch} | empfehlen
WER | Freunden | von {dem Buch} | erzählen
WER | Freunden | von {dem Buch} | vor-schwärmen
"""
